"""The number of threads follows the times of steps."""

from weft.generate.thread_choice import FIRST_PAUSE, LARGE_STEP, SMALL_STEP, TRIALS, ThreadChoice, thread_choice


def turns(choice: ThreadChoice, seconds: dict[int, float], count: int) -> list[int]:
    """The numbers of threads of some turns, where each takes its seconds."""
    found = []
    for _ in range(count):
        found.append(choice.next())
        choice.note(found[-1], seconds[found[-1]])
    return found


def test_both_numbers_are_tried_and_the_faster_is_kept():
    for faster, slower in ((1, 2), (2, 1)):
        choice = ThreadChoice(1, 2)
        found = turns(choice, {faster: 1.0, slower: 3.0}, 2 * TRIALS + FIRST_PAUSE)
        assert found == [1] * TRIALS + [2] * TRIALS + [faster] * FIRST_PAUSE


def test_the_slower_number_is_tried_again_and_ever_more_seldom():
    choice = ThreadChoice(1, 2)
    found = turns(choice, {1: 1.0, 2: 3.0}, 1000)[2 * TRIALS :]
    tried = [turn for turn, threads in enumerate(found) if threads == 2]
    apart = [b - a for a, b in zip(tried, tried[1:], strict=False)]
    assert tried[0] == FIRST_PAUSE and apart == sorted(apart) and apart[1] > 1.9 * apart[0]


def test_a_machine_that_becomes_free_is_noticed():
    choice = ThreadChoice(1, 2)
    turns(choice, {1: 1.0, 2: 3.0}, 2 * TRIALS)
    assert turns(choice, {1: 1.0, 2: 0.5}, FIRST_PAUSE + 2)[-1] == 2


def test_a_machine_that_becomes_busy_is_noticed():
    choice = ThreadChoice(1, 2)
    turns(choice, {1: 1.0, 2: 0.5}, 2 * TRIALS)
    assert turns(choice, {1: 1.0, 2: 9.0}, TRIALS + 1)[-1] == 1


def test_small_and_large_steps_are_not_tried():
    for products in (SMALL_STEP - 1, LARGE_STEP):
        choice = thread_choice(products)
        assert turns(choice, {choice.most: 1.0}, 9) == [choice.most] * 9
    assert thread_choice(SMALL_STEP - 1).most == 1


def test_steps_of_about_one_size_share_their_times():
    assert thread_choice(1_100_000, 200) is thread_choice(1_100_000, 201)
    assert thread_choice(1_100_000, 200) is not thread_choice(1_100_000, 20)
    if thread_choice(1_100_000, 200).most > 1:
        assert len(thread_choice(1_100_000, 200).times) == 2 and len(thread_choice(LARGE_STEP, 20).times) == 1
