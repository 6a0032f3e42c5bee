"""Model folders of the Hugging Face library, read and written; ONNX graphs, written; files of word vectors. Nothing in
a folder is run or imported, no pickle is opened, nothing outside the folder is read. Refuses to know tasks.

    reading, writing          a folder becomes a model; a model becomes a folder, and is proved
    family, families          Family: one model type, read and written; all of them
    their_config, config_diff their config.json by an allow-list; what two configs compute differently
    rules, picture_rules, weight_table, weights   which tensors of theirs hold which numbers of ours; files of weights
    adapters                                      LoRA adapters beside weights, merged while these are read
    tokenizer_files, marks, language_marks        tokenizer.json; ids that begin, end and fill texts, or name languages
    generation, labels, sentence_modules          generation_config.json; labels; pooling of sentence-transformers
    pictures, preprocessors   models of pictures: the scale of numbers; preprocessor_config.json
    proof, reference_run      their library, in its own process, computes what our model computes
    onnx, onnx_reference_run  an ONNX graph with free sizes, and its proof
    signatures, ports         models with plain tensors in and out; names and sizes of the tensors
    hub, staging, word_files  the way to the network; folders whole or absent; vectors of words

    read_folder:  config.json -> TheirConfig -> Family.read -> our config -> outline (names and shapes, no memory)
                  weights -> Shards (headers) -> Table.check -> unfilled model -> Table: each tensor copied to its place
    write_folder: our config -> Family.write -> config.json, read again and compared -> Table: views of ours -> file
    write_onnx:   model -> signature -> traced with free axes -> model.onnx -> onnxruntime, other sizes -> folder

A `Family` is `read`, `write` and `table`. A `Table` is a list of rules. A rule gives, for a tensor of theirs, the views
of ours with the same numbers: reading copies into the views, writing copies out of them. Every tensor is in exactly one
rule, on both sides. What `write` gives is read again; parts that would compute something else are named
(`config_diff`), so a family need not know all that it cannot express. `TheirConfig` gives keys by type and judges the
rest: keys that name code or other arithmetic are refused, harmless ones pass, all others are noted.

Tracing freezes what Python asks of a size, and kernels are picked by asking. So texts are traced without facts about
their order (`unstated`): all is read through a mask, which is right at every length. What is frozen all the same shows
in the proof: other sizes, padding on either side, rows with nothing to read.
"""

from weft.interop.marks import Marks
from weft.interop.onnx import write_onnx
from weft.interop.proof import prove
from weft.interop.reading import Imported, read_folder, read_source
from weft.interop.writing import write_folder

__all__ = ["Imported", "Marks", "prove", "read_folder", "read_source", "write_folder", "write_onnx"]
