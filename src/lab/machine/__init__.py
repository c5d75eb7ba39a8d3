"""What depends on the machine that a command runs on: its signals, its memory, its processor.

``stop_signals`` tells a command that it must stop. ``free_memory`` asks whether something fits into memory.
``memory_reuse`` keeps freed memory for the next step. ``subnormals`` counts tiny numbers as 0.
``torchvision_import`` imports torchvision where torch is built for the CPU alone.
"""
