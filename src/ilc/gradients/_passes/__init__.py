"""What surrounds the passes of a step: losses of examples, buffers over several passes, graph checks."""
