"""A language model of GPT-2's shape with random weights, as a folder of the Hugging Face library: for races of servers.

    python bench/serving_models.py gpt2-hf [--layers 12]
    weft import gpt2-hf --out gpt2

Its tokenizer has GPT-2's number of tokens, of which bytes alone, and `th`, are ever read in a prompt.
"""

import argparse

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

END = "<|endoftext|>"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("folder")
    words.add_argument("--layers", type=int, default=12)
    asked = words.parse_args()
    config = GPT2Config(n_layer=asked.layers)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = [*letters, *(f"<{number}>" for number in range(config.vocab_size - len(letters) - 2)), "th", END]
    # One pair is merged: llama.cpp opens no tokenizer without.
    made = Tokenizer(models.BPE({name: number for number, name in enumerate(names)}, [("t", "h")]))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=made, bos_token=END, eos_token=END).save_pretrained(asked.folder)
    torch.manual_seed(0)
    GPT2LMHeadModel(config).save_pretrained(asked.folder)


if __name__ == "__main__":
    main()
