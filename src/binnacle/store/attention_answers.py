"""Answers of people to what waits for them."""

from binnacle.errors import InvalidInput, Refused
from binnacle.store import attention, questions, review_decisions, reviews
from binnacle.store.transaction import Reader, Writer
from binnacle.work import steps
from binnacle.work.run import Attention


def find_entry(tx: Reader, text: str) -> Attention | None:
    """The entry with this id or with the question of this id; None if it is not the id of one."""
    wanted = text.strip().casefold()
    if wanted.startswith("bnq-"):
        return attention.ATTENTIONS.first(tx, "where question = ? order by number desc", questions.get(tx, wanted).id)
    return attention.get(tx, wanted) if wanted.startswith(attention.PREFIX) else None


def answer(tx: Writer, entry: Attention, said: str) -> Attention:
    """Answers an entry: a question in words or by the number of an option, a permission with yes, no or always, a
    review with accept, or reject and why.

    Raises:
        Refused: it is closed, or an agent tries to answer.
        InvalidInput: it is not an answer to this.
    """
    if tx.by.kind == "agent" or tx.session:
        raise Refused("only people may answer", hint=("leave it open", steps.answer_attention(entry.id)))
    if entry.answered_at is not None:
        raise _refuse_closed(entry)
    if not said.strip() and entry.kind != "ended":
        hint = f"answer with one of: {', '.join(entry.options)}" if entry.options else "write the answer after the id"
        raise InvalidInput(f"no answer to {entry.id}: {entry.title}", hint=hint)
    if entry.question is not None:
        questions.answer(tx, entry.question, said)
        return attention.get(tx, entry.id)
    if entry.kind == "review":
        return _decide(tx, entry, said)
    words = " ".join(said.split()) or "seen"
    if entry.options:
        words = _choose(entry, words)
    return attention.close(tx, entry.id, answer=words, by=tx.by.name)


def _decide(tx: Writer, entry: Attention, said: str) -> Attention:
    """Accepts the change of a review, or asks for changes; what follows the first word is said with that."""
    assert entry.task_id is not None
    found = reviews.get_open(tx, entry.task_id)
    word, _, rest = said.strip().partition(" ")
    match word.casefold().rstrip(":,"):
        case "accept":
            review_decisions.accept(tx, found, message=rest.strip())
        case "reject" | "changes":
            review_decisions.reject(tx, found, message=rest.strip())
        case _:
            hint = "answer with: accept, or: reject and what has to be changed"
            raise InvalidInput(f"not an answer to {entry.id}: {said[:60]!r}", hint=hint)
    return attention.get(tx, entry.id)


def _choose(entry: Attention, words: str) -> str:
    chosen = [one for one in entry.options if one == words.casefold()] or [
        one for one in entry.options if one.startswith(words.casefold())
    ]
    if len(chosen) != 1:
        hint = f"answer with one of: {', '.join(entry.options)}"
        raise InvalidInput(f"not an answer to {entry.id}: {words[:60]!r}", hint=hint)
    return chosen[0]


def _refuse_closed(entry: Attention) -> Refused:
    if entry.answer:
        said = f"{entry.id} was answered by {entry.answered_by}: {entry.answer[:100]}"
    else:
        said = f"{entry.id} no longer waits for an answer: {_CAUSES_GONE.get(entry.kind, 'its cause is gone')}"
    return Refused(said, hint=("leave it as it is", steps.SHOW_STATUS))


_CAUSES_GONE = {
    "permission": "its agent has ended, or waited too long",
    "ended": "the run was resumed",
    "review": "the review is over",
}
