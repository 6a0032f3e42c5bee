"""Training: the loop, the optimizer, the run folder and its checkpoints. Refuses to know tasks and modalities.

    loop                              Fit.run: the page to read, in execution order
    passes                            what a step computes: gradients of a batch, the score on held-out data
    run, work, job                    a run from its parts to its folder; what is trained; where it stands
    settings, schedule, pace          settings of training; learning rates and ends; a run by minutes keeps its time
    optimizer, muon, row_sgd          every parameter in one group: AdamW, Muon, rows of tables
    others                            sums and rows over the processes of a step, with gradients
    sums, score                       losses added up; which weights are better on held-out data
    devices, precision                where to compute; bf16 or fp16 with an fp32 copy of the weights; the loss's scale
    compiling, trial                  compiled blocks; how long a step takes
    fitting                           how a step is computed where memory would not suffice
    footprint                         memory of a process and bytes between processes, by closed forms
    features                          what a frozen encoder gives, computed once and kept in the run folder
    short_run                         a run of which only the score is kept
    world, attendance, launched       several processes; who is there, and being asked to stop in a wait; who began them
    parallel, shares                  a step that several processes compute; which rows of the weights each one holds
    owners                            matrices whose updates are computed by one process each
    slowness, signals                 a process that is slow; being asked to stop
    watching                          a jump of the loss, a run that diverges or does well
    folder, naming, claim, leftovers  the run folder; its name; taken for a training; what a killed process left
    run_config, earlier               config.json by its types; config files of earlier versions
    seal, base_run                    digests of all files; the run beside which adapters learned
    checkpoint, manifest, retention   checkpoints: written, verified, kept
    shards                            their files where processes share weights: each writes its rows
    metrics, progress, board, card    metrics.jsonl; progress on stderr; TensorBoard; the model card

    task -> source -> batch(indices) -> objective(model, batch)
                                          embed -> Tokens        modalities
                                          trunk(Tokens)          core
                                          head(Tokens) -> values core
                                          compare -> Loss(total, count)
         Step: both as one module, so that FSDP2 gathers weights ahead of each block and adds gradients up behind it
         Fit.step: add up over pieces and processes, divide once, clip, update, note

A `Loss` may have further terms (name, total, count, weight). Minimised, noted and compared is total / count + the sum
of weight x total / count of the terms. `Objective.counts` counts a whole batch before the model runs, so that the
gradients of pieces and processes add up exactly to that of the sum.

What makes runs trustworthy:

    order of data     a pure function of (fingerprint, seed, epoch, index). A checkpoint stores the step alone;
                      pieces of a batch and processes change nothing.
    randomness        of a sample: a hash of (seed, its index, the place in the model, the place in the sample), so
                      pieces, processes, evaluating, logging and saving change nothing. What draws without knowing whose
                      its rows are has torch's generator, seeded by (seed, step, rank).
    one = many        any number of processes trains the same run up to the order of sums: draws by sample; the contrast
                      of captions, batch norm and the balance of teachers look at the batches of all processes
                      (`core.beside`); buffers that training changes are equal in all. `micro` is exact where no part of
                      a model looks at the whole batch. Runs begun before (`as_one`: false) draw by (seed, step, rank).
    checkpoints       staged, sealed by a manifest with lengths and SHA-256, committed by one rename. "Latest" is
                      computed from what verifies. No pickle is written or read.
    resuming          stopped and resumed = never stopped, bit for bit, on the same kind of machine, by steps or epochs.
                      A run by minutes fits its end to the clock, ends with the first step past its time, and spends at
                      most a tenth of it on held-out data; its decisions are recorded (`State`).
    NaN, infinity     stop the run before they reach the weights. The last checkpoint of a run that does well
                      (`State.good_step`) is never pruned; after a divergence later ones are set aside.
    processes         meet twice before the first step (`World.announce`, `World.compare`): the same model, data and
                      settings, or all end with the words and exit code of the one that refuses. Each beats in a store
                      (`Attendance`): where one is lost or hangs, the others name it, save the last step and leave.
                      Those that share weights cannot save alone: they say which checkpoint is kept.
    which weights     those of the end, or of an earlier evaluation that was clearly better (`HeldOutScore`): by loss,
                      or by wrong answers, since a small classifier's loss rises while it still gets better. Where
                      patience ends, the horizon is refitted to a near end, so that the rate falls to zero. Then
                      `Objective.calibrate` may adjust the model (temperature scaling).
    threads           models with fewer than 200,000 weights in matrices train on one thread, whatever the machine does,
                      so that the order of sums is always the same.

Weights in bf16 and fp16 have an fp32 master copy (`Weights`), embedders stay in fp32, but for their convolutions;
neither is used but where it was measured to be faster, fp16 with a scaled loss (`LossScale`). Muon takes the matrices
inside the trunk, AdamW the rest. Tables of which a step reads few rows (`RowTable`) have sparse gradients; `RowSgd`
takes the sum of a row's gradients, its norm limited by `clip`. Batches name each row once (`TableRows`), so that a step
sorts nothing.

The seal in config.json holds length and digest of every file, and of config.json itself. `RunFolder` compares them
while it reads (`config`, `content`, `weights`). A run with adapters has adapters.safetensors and a `BaseRun`, which
points to the rest.
"""
