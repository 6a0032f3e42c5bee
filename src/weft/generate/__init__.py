"""From scores to sequences: any decoder is stepped, and one search loop serves all. Refuses to know texts and files.

    sampling              plain functions from logits to the next token
    session               Session: steps any decoder, transformer or recurrent
    search, beam          the search loop, with Drawing; BeamSearch
    choices, grammars     rules of what may be written next: one of some texts; a pattern or a JSON schema
    together              texts written together: rows join and leave at any token
    decode                many sources, decoded by an encoder–decoder
    prompts, stopping     a prompt with its settings; work that may be ended between two steps
    compute               a trained model in use: exact, bf16 or int8
    program, compiling, compiling_mixers   a decoder's step as a flat list for native code, and how it is written
    programs, stepping, thread_choice      programs kept with their models; native steps; their number of threads

A `Cache` is one object outside the modules. It notes the places of all tokens read and gives each block its `Slots`:
attention appends keys and values to preallocated lines, recurrence sets its state, a memory's keys are computed `once`.
A row that reaches the context forgets its older half. Prompts of different lengths are padded in front, so that all
rows end together. Native steps are bound to the cache's own tensors: they and steps of the modules may follow each
other.

In `search` a strategy looks at the logits and returns a `Move`: which rows go on with which tokens. A `Rule` beside a
row says which tokens may follow (`Rule.allowed`). Hypotheses of one source share its row of the memory
(`Pass.rows_per_memory`), so that its keys are computed and read once; where a rule or bias depends on a row's own
places, `Session` gives each row its own memory. What was made of a memory is kept apart and moved by `take_memory`.
"""

from weft.generate.sampling import Sampling
from weft.generate.search import Generated, generate
from weft.generate.session import Session

__all__ = ["Generated", "Sampling", "Session", "generate"]
