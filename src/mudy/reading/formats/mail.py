"""Mail: the subject is the title, quoted lines are quotations, and signatures boilerplate; attachments are left out."""

import re
from email import policy
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser
from itertools import groupby

from mudy.reading.formats import TextBuilder
from mudy.reading.structure import ATTRIBUTION

_MOST_MESSAGES = 10_000  # of a mailbox
BETWEEN_MESSAGES = re.compile(rb"\n\r?\n(?=From \S{1,200} )")
_SUBJECT_MARKS = re.compile(r"(?:\s{0,3}(?:re|fwd?|aw|wg|sv|tr)\s{0,3}:|\s{0,3}\[[^\[\]]{1,60}\])+\s{0,3}", re.I)


def read_mail(builder: TextBuilder, data: bytes) -> None:
    subjects: set[str] = set()
    for source in BETWEEN_MESSAGES.split(data, _MOST_MESSAGES):
        message = BytesParser(_class=EmailMessage, policy=policy.default).parsebytes(source)
        subject = _subject(message)
        if subject not in subjects:
            builder.add(subject, "heading" if subjects else "title", 1)
            subjects.add(subject)
        _add_body(builder, message)


def _subject(message: EmailMessage) -> str:
    try:
        subject = " ".join(str(message["subject"] or "").split())
    except (ValueError, LookupError, IndexError, AttributeError):  # some broken headers break their parser
        return ""
    marks = _SUBJECT_MARKS.match(subject)
    return subject[marks.end() :] if marks else subject


def _add_body(builder: TextBuilder, message: EmailMessage) -> None:
    part = message.get_body(("plain", "html"))
    if part is None:  # no part, or none that is closed
        add_message(builder, str(message.preamble or message.epilogue or ""))
    elif part.get_content_type() == "text/html":
        from mudy.reading.formats.html import add_html

        add_html(builder, _payload(part))
    else:
        add_message(builder, _content(part))


def _content(part: MIMEPart) -> str:
    try:
        return str(part.get_content())
    except (LookupError, ValueError):  # an unknown encoding, or broken MIME
        return _payload(part).decode("utf-8", "replace")


def _payload(part: MIMEPart) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def add_message(builder: TextBuilder, text: str) -> None:
    body, mark, signature = text.replace("\r\n", "\n").partition("\n-- \n")
    for quoted, lines in groupby(body.split("\n"), key=lambda line: line.startswith(">")):
        if quoted:
            builder.add("\n".join(line.lstrip("> ") for line in lines), "quotation")
        else:
            for paragraph in "\n".join(lines).split("\n\n"):
                attribution = ATTRIBUTION.fullmatch(" ".join(paragraph.split()))
                builder.add(paragraph, "boilerplate" if attribution else "prose")
    if mark:
        builder.add(signature, "boilerplate")
