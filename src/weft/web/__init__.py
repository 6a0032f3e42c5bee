"""Runs served over HTTP: a page for people, an API for programs. Needs the extra `serve` (Starlette, uvicorn).

Nothing is written, fetched or loaded by a request: runs stand in a table that is made at the start and added to by a
thread that looks for new ones, and inputs are values, never names of files.

    serving                   the socket, signals and the server; what `weft serve` calls
    app                       all routes together
    table, state              the runs, by the names in addresses; what all routes share
    limits                    how much is taken at once
    receiving                 HTTP as it comes in: deadlines, strict heads
    shedding                  what is refused while the queue is full, before it is taken apart
    guard                     who may ask: Host, Origin, methods, the token; headers of every answer
    bodies                    what a request says, as bytes or strict JSON
    inputs                    values of a request as inputs of a task
    engine, jobs              the one thread that computes, its bounded queue; pieces of work and what is heard of them
    turns                     whether the loop or the engine goes first
    replies, sending          answers and errors as JSON; results and streams of events, until the client leaves
    writing                   texts that are written together, by the rows of each run
    predict                   /api/predict, /api/runs
    looks                     /api/look: the page of `weft look`, kept for a while to be opened
    sweeps                    /api/sweep: how an answer changes with each of many changes of the model
    scanning, watched         runs that finish while others are served; a run in training, by its folder alone
    training, beside          /api/training; `weft train --watch`, a server in a process of its own
    openai/, libre            /v1 in the shape of OpenAI's API; /translate in that of LibreTranslate's
    pages                     the page for people, whose files stand in page/
    metrics, openapi          /metrics; the description of all routes

    loop thread:   receiving -> guard -> route -> bodies -> inputs -> Engine.submit
    engine thread: one batch after the other, a step of all texts between -> ServedJob.say -> the loop, which sends it
"""
