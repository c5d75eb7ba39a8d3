"""Colored MNIST by the protocol of OoD-Bench: methods of DomainBed and ours, 20 draws of the options."""

TITLE = "OoD-Bench on Colored MNIST"
