"""The experiments, one file for each claim; each imports public parts of weft alone and reads like a page of a lecture.

scale           D1   scores without 1/sqrt(d)            fourier      D7   frequencies instead of coordinates
temperature     D2   softmax, flat and sharp             data         D8   ViT and ResNet by the number of pictures
order           D3   attention without positions         pretraining  D9   fine-tuning and training from scratch
heads           D4   one head and several                norms        D10  layer norm and batch norm
square          D5   cost by length                      longer       D11  beyond the lengths of training
distance        D6   far-apart information in an RNN     memorise     D12  numbers planted in a text
shots           D13  learning within the context         missing      D14  missing values
soup            D15  the average of fine-tuned models
"""
