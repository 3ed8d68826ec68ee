"""Classes for programs that tests write as text: what a user's objects do, for recordings and live runs alike."""

#: An object that takes 50 ms to pickle and 100 ms to unpickle, and ``compute``, which takes CPU time.
SLOW = """
import time
def compute(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
class Slow:
    def __getstate__(self):
        compute(0.05)
        return {"kept": 1}
    def __setstate__(self, state):
        compute(0.1)
"""
#: An array without Python's buffer protocol, as PyTorch's tensors are: only DLPack shows it.
TENSOR = """
class Tensor:
    def __init__(self, array):
        self.array = array
    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)
    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
"""
