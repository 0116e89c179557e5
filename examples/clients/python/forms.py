"""Reads a page of notices in JSON or in XML. Both forms have the same fields."""

import json
import xml.etree.ElementTree as ElementTree
from collections import namedtuple

FORMS = {"json": "application/json", "xml": "application/xml"}

Page = namedtuple("Page", "notices changes cursor more reset")
Reset = namedtuple("Reset", "reason missed")  # missed is None if the server does not know the number
Notice = namedtuple("Notice", "id type status title body created data")


def parse_page(form, body):
    """Reads a page of notices in one of the FORMS."""
    return page_of_json(json.loads(body)) if form == "json" else page_of_xml(ElementTree.fromstring(body))


def page_of_json(page):
    return Page(
        [notice_of(n) for n in page["notices"]],
        [(c["id"], c["kind"]) for c in page["changes"]],
        page["cursor"], page["more"], reset_of(page) if page["reset"] else None,
    )


def reset_of(reset):
    """Makes a Reset from the JSON of a page or of an event."""
    return Reset(reset["resetReason"], reset.get("missed"))


def notice_of(n):
    """Makes a Notice from its JSON."""
    return Notice(n["id"], n["type"], n["status"], n["title"], n["body"], n["createdAt"], n["data"])


def page_of_xml(page):
    return Page(
        [notice_of_xml(n) for n in page.findall("notice")],
        [(c.get("id"), c.get("kind")) for c in page.findall("change")],
        page.get("cursor"), page.get("more") == "true", reset_of(page.attrib) if page.get("reset") == "true" else None,
    )


def notice_of_xml(n):
    text = {child.tag: child.text or "" for child in n}
    data = {field.tag: field.text for field in n.find("data")}
    return Notice(text["id"], text["type"], text["status"], text["title"], text["body"], text["createdAt"], data)
