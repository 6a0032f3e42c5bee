"""Files on disk: written whole or not at all, read without trust; tensors in files. Knows nothing of models.

store                     the one door through which a run folder is read and written
growing                   a file that grows, may be killed, and has its name once it is whole
prepared                  arrays made from data once, mapped by all that need them; array_file one of them,
                          file_marks by what a file is known again, marked texts known by what they say
lock                      one process at a time writes in a run folder
disk                      faults of the disk in words; how much room there is
tensors, tensor_file      safetensors written and read; one file held open and checked
soundness                 whether the numbers in tensors can be computed with
"""
