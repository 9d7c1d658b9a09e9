"""`format`: the strings of each format of the specification, as expressions over the characters of the value.

Each format is the grammar of the document that JSON Schema names for it (validation specification, section 7.3),
written for this project. A format that is not here is an annotation, as the specification has it, unless the caller
is strict. Those of Python types, which pydantic reads otherwise, have names of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ....expr import ANY_CHAR, Alt, And, Concat, Expr, Not, Repeat, optional, star, text
from ...build import repeat
from ...regex import parse_regex

__all__ = ["ANNOTATIONS", "FORMATS", "OF_TYPES", "format_expr"]

ANNOTATIONS = frozenset({"int32", "int64", "float", "double", "binary", "password", "idn-hostname"})
"""Known formats that are not enforced: they describe numbers or presentation, or need tables (`idn-hostname`: those of
RFC 5892). `Grammar.relaxed` lists the ones that a schema names."""


def _re(pattern: str) -> Expr:
    return parse_regex(pattern)


# Dates and times: RFC 3339, section 5.6; durations: its appendix A.

_LEAP_CENTURIES = r"(?:[02468][048]|[13579][26])00"
_LEAP_YEARS = r"[0-9]{2}(?:0[48]|[2468][048]|[13579][26])"
_YEAR = r"[0-9]{4}"
_DATE = (
    rf"(?:{_YEAR}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    rf"|02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:{_LEAP_CENTURIES}|{_LEAP_YEARS})-02-29)"
)
_OFFSET = r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_PLAIN_TIME = rf"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?{_OFFSET}"


@cache
def _time() -> Expr:
    """Second 60 is a leap second: 23:59:60 in UTC, for the offsets that are in use (whole and half hours)."""
    options: list[Expr] = [_re(_PLAIN_TIME)]
    fraction, utc = _re(r"(?:\.[0-9]+)?"), _re("[Zz]")
    for local in range(29, 24 * 60, 30):
        plus, minus = (local - 1439) % 1440, (1439 - local) % 1440
        offsets: list[Expr] = [text(f"+{plus // 60:02}:{plus % 60:02}"), text(f"-{minus // 60:02}:{minus % 60:02}")]
        if not plus:
            offsets.append(utc)
        options.append(Concat((text(f"{local // 60:02}:{local % 60:02}:60"), fraction, Alt(tuple(offsets)))))
    return Alt(tuple(options))


def date() -> Expr:
    return _re(_DATE)


def time() -> Expr:
    return _time()


def date_time() -> Expr:
    return Concat((_re(_DATE + "[Tt]"), _time()))


def duration() -> Expr:
    digits = "[0-9]+"
    clock = rf"T(?:{digits}H(?:{digits}M(?:{digits}S)?)?|{digits}M(?:{digits}S)?|{digits}S)"
    days = rf"(?:{digits}Y(?:{digits}M(?:{digits}D)?)?|{digits}M(?:{digits}D)?|{digits}D)"
    return _re(rf"P(?:{days}(?:{clock})?|{clock}|{digits}W)")


# Mail and hosts: RFC 5321 section 4.1.2, RFC 1123 section 2.1, RFC 5890; addresses: RFC 2673, RFC 4291.

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_QUOTED_LOCAL = r'"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"'


@cache
def hostname() -> Expr:
    """RFC 1123. No label has "--" in its third and fourth place unless it begins with "xn--" (RFC 5890, 2.3.1); what
    stands after that is not decoded. At most 253 characters, counted in blocks: a label of n characters counts
    (n + 16) // 16 blocks, of which there may be 15.
    """
    label = And((_re(_LABEL), Not(_re(r"(?:[^xX].|.[^nN])--.*"))))
    name = Concat((label, Repeat(Concat((_re(r"\."), label)), 0, None)))
    return And((name, _re(r"(?:[^.]{0,15}\.|[^.]{16}){0,14}[^.]{0,15}")))


def _mail(local: str, label: str) -> Expr:
    """RFC 5321, section 4.1.2: a name, or an address in brackets."""
    domain = _re(rf"{label}(?:\.{label})*")
    return Concat((_re(local + "@"), Alt((domain, _bracketed("[", ipv4()), _bracketed("[IPv6:", ipv6())))))


def _bracketed(opening: str, inner: Expr) -> Expr:
    return Concat((text(opening), inner, text("]")))


def email() -> Expr:
    label = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
    return _mail(rf"(?:{_ATOM}(?:\.{_ATOM})*|{_QUOTED_LOCAL})", label)


def idn_email() -> Expr:
    """RFC 6531: characters beyond ASCII as well, in the local part and in labels."""
    atom = "[" + r"\x80-\U0010ffff" + _ATOM[1:]
    quoted = _QUOTED_LOCAL.replace(r"\x5d-\x7e", r"\x5d-\x7e\x80-\U0010ffff")
    inner = r"[A-Za-z0-9\x80-\U0010ffff]"
    return _mail(rf"(?:{atom}(?:\.{atom})*|{quoted})", rf"{inner}(?:[A-Za-z0-9\x80-\U0010ffff-]*{inner})?")


@cache
def ipv4() -> Expr:
    return _re(_IPV4)


@cache
def ipv6() -> Expr:
    """Up to `n` pieces and one more before the "::", and what is left of eight after it."""
    last = _re("[0-9A-Fa-f]{1,4}")
    piece, gap = Concat((last, text(":"))), text("::")
    pair = Alt((Concat((piece, last)), ipv4()))  # the last two, which may be written as four decimals
    options = [Concat((*[piece] * 6, pair)), Concat((gap, *[piece] * 5, pair))]
    for n in range(7):
        before = optional(Concat((repeat(piece, 0, n), last)))
        after: tuple[Expr, ...] = (*[piece] * (4 - n), pair) if n < 5 else (last,) if n < 6 else ()
        options.append(Concat((before, gap, *after)))
    return Alt(tuple(options))


# RFC 3986 and, with characters beyond ASCII, RFC 3987.

_UCS = (
    r"\xa0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    + "".join(rf"\U{plane:04x}0000-\U{plane:04x}fffd" for plane in range(1, 14))
    + r"\U000e1000-\U000efffd"
)
_PRIVATE = r"\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"


@cache
def _uri(reference: bool, international: bool) -> Expr:
    ucs = _UCS if international else ""
    escape = "%[0-9A-Fa-f]{2}"
    unreserved = rf"A-Za-z0-9._~{ucs}-"
    sub = "!$&'()*+,;="
    pchar = rf"(?:[{sub}:@{unreserved}]|{escape})"
    segment, full = f"{pchar}*", f"{pchar}+"
    no_colon = rf"(?:[{sub}@{unreserved}]|{escape})+"
    userinfo = rf"(?:(?:[{sub}:{unreserved}]|{escape})*@)?"
    registered = rf"(?:[{sub}{unreserved}]|{escape})*"
    future = rf"[vV][0-9A-Fa-f]+\.[{sub}:{unreserved if not international else 'A-Za-z0-9._~-'}]+"
    host = Alt((_bracketed("[", Alt((ipv6(), _re(future)))), _re(registered)))
    authority = Concat((text("//"), _re(userinfo), host, _re(rf"(?::[0-9]*)?(?:/{segment})*")))
    private = _PRIVATE if international else ""
    tail = _re(rf"(?:\?(?:[{sub}:@/?{private}{unreserved}]|{escape})*)?(?:\#(?:[{sub}:@/?{unreserved}]|{escape})*)?")
    rooted = rf"/(?:{full}(?:/{segment})*)?|"
    absolute = (_re("[A-Za-z][A-Za-z0-9+.-]*:"), Alt((authority, _re(rf"{rooted}{full}(?:/{segment})*|"))), tail)
    if not reference:
        return Concat(absolute)
    relative = (Alt((authority, _re(rf"{rooted}{no_colon}(?:/{segment})*|"))), tail)
    return Alt((Concat(absolute), Concat(relative)))


def uri() -> Expr:
    return _uri(False, False)


def uri_reference() -> Expr:
    return _uri(True, False)


def iri() -> Expr:
    return _uri(False, True)


def iri_reference() -> Expr:
    return _uri(True, True)


def uri_template() -> Expr:
    """RFC 6570, section 2."""
    literal = r"(?:[\x21\x23\x24\x26-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e" + _UCS + _PRIVATE + r"]|%[0-9A-Fa-f]{2})"
    char = "(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})"
    variable = rf"{char}(?:\.?{char})*(?::[1-9][0-9]{{0,3}}|\*)?"
    return _re(rf"(?:{literal}|\{{[+#./;?&=,!@|]?{variable}(?:,{variable})*\}})*")


def uuid() -> Expr:
    return _re("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def json_pointer() -> Expr:
    return _re(r"(?s)(?:/(?:[^/~]|~[01])*)*")


def relative_json_pointer() -> Expr:
    return _re(r"(?s)(?:0|[1-9][0-9]*)(?:\#|(?:/(?:[^/~]|~[01])*)*)")


def byte() -> Expr:
    """RFC 4648, section 4 (base 64), as OpenAPI's `byte` has it."""
    return _re(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


# Of Python types: what pydantic takes. No year 0 and no leap second; times with or without an offset.

_TYPE_TIME = (
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?"
)
_CLOCK = r"T(?:[0-9]{1,6}H(?:[0-9]{1,6}M)?(?:SECONDS)?|[0-9]{1,6}M(?:SECONDS)?|SECONDS)"


def _type_date() -> Expr:
    return And((date(), Not(Concat((_re("0000-"), star(ANY_CHAR))))))


def _type_duration() -> Expr:
    """ISO 8601 as pydantic writes it: years of 365 days, days and a time, of 999,999,999 days at most."""
    clock = _CLOCK.replace("SECONDS", r"[0-9]{1,6}(?:\.[0-9]{1,6})?S")
    years = "(?:[0-9]{1,6}|1[0-9]{6}|2[0-6][0-9]{5})Y"
    days = f"{years}(?:[0-9]{{1,3}}D)?(?:{clock})?|[0-9]{{1,8}}D(?:{clock})?"
    return _re(f"[+-]?P(?:{days}|{clock}|[0-9]{{1,6}}W)")


OF_TYPES = {name: f"pydantic {name}" for name in ("date", "time", "date-time", "duration")}
"""Formats that pydantic names in the schemas of types and does not read as RFC 3339 has them: what it does read."""
FORMATS: dict[str, Callable[[], Expr]] = {
    "date": date,
    "time": time,
    "date-time": date_time,
    "duration": duration,
    "email": email,
    "idn-email": idn_email,
    "hostname": hostname,
    "ipv4": ipv4,
    "ipv6": ipv6,
    "uri": uri,
    "uri-reference": uri_reference,
    "iri": iri,
    "iri-reference": iri_reference,
    "uri-template": uri_template,
    "uuid": uuid,
    "json-pointer": json_pointer,
    "relative-json-pointer": relative_json_pointer,
    "byte": byte,
    "regex": lambda: star(ANY_CHAR),
    OF_TYPES["date"]: _type_date,
    OF_TYPES["time"]: lambda: _re(_TYPE_TIME),
    OF_TYPES["date-time"]: lambda: Concat((_type_date(), _re("[Tt ]" + _TYPE_TIME))),
    OF_TYPES["duration"]: _type_duration,
}
"""The formats that are enforced; `regex_format` has the rules of `regex`, which are not regular."""


@cache
def format_expr(name: str) -> Expr | None:
    """The characters of the strings of a format; `None` where it is an annotation."""
    made = FORMATS.get(name)
    return made() if made else None
