"""feedback: which results of the last answer were of use, recorded where the user has switched memory on."""

from __future__ import annotations

from codelens.errors import UsageError
from codelens.render.visible import for_line
from codelens.server.mcp.asked import LONGEST_PATH, QUERY, TARGET, target_inside
from codelens.server.mcp.schema import STRING, choice, closed, rows, several, text
from codelens.server.mcp.tool import Answer, Asked, Tool

VERDICTS = ("useful", "useless")
MOST_TOLD = 10
"""Places that an answer names. Chosen: a budget is none of this tool's arguments."""
LONGEST_TOLD = 200
"""Characters of each. Chosen."""


def answer(asked: Asked) -> Answer:
    """`used` names what was used of the last answer; `hit` and `verdict` judge one place. Raises MemoryOff."""
    given = asked.arguments
    if ("used" in given) == ("hit" in given) or ("hit" in given) != ("verdict" in given):
        raise UsageError("nothing is judged", "give `used`, or `hit` with `verdict`")
    info = asked.index.info()
    notebook = asked.index.notebook(asked.session)
    if "used" in given:
        places = notebook.used([target_inside(target, info) for target in given["used"]])
        verdict = "useful"
    else:
        hit = given["hit"] if given["hit"].isdigit() else target_inside(given["hit"], info)
        verdict, query = given["verdict"], given.get("query")
        words = asked.index.learnable(query) if query is not None else ()
        places = [notebook.judge(hit, verdict == "useful", query, words)]
    told = [for_line(place.told())[:LONGEST_TOLD] for place in places[:MOST_TOLD]]
    lines = [f"{verdict}: {place}" for place in told]
    return Answer("\n".join(lines) or "nothing of the last answer lies there", {"verdict": verdict, "places": told})


FEEDBACK = Tool(
    name="feedback",
    title="Say what was of use",
    description="Record that results were useful or useless, so that later searches rank by it. Only where the user has switched "
    "memory on. After a task, name in `used` the files and symbols of the last answer that you read or changed.",
    takes=closed(
        {
            "used": several("Files, PATH:LINE or symbols of the last answer that were used", TARGET, 50),
            "hit": text("A result's rank in the last answer, PATH:LINE, or a symbol", most=LONGEST_PATH),
            "verdict": choice("What that hit was", VERDICTS),
            "query": {**QUERY, "description": "For what it was; left out, for the last query"},
        },
        [],
    ),
    gives=closed({"verdict": STRING, "places": rows(STRING)}),
    answer=answer,
    records=True,
)
