"""Makes a context pack: request → source → offers → fit → text, or a cached pack that is still valid."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from codelens.config import Settings
from codelens.context.cache import KeptPacks, States, key_of
from codelens.context.changes import diff_of
from codelens.context.pack import Offers, allowed_forms, fit
from codelens.context.parts import hash_state
from codelens.context.sources import Source, document_states, for_change, for_files, for_task, offers_of
from codelens.errors import UsageError
from codelens.model.code import Freshness, IndexInfo
from codelens.model.context import CHANGE, FILES, TASK, ContextRequest, Entry, Pack, PackedText, PackLayout
from codelens.model.fast_dataclass import replace
from codelens.store.store import Store
from codelens.store.texts import Texts


def write_pack(
    request: ContextRequest,
    layout: PackLayout,
    store: Store,
    info: IndexInfo,
    settings: Settings,
    folder: Path | None = None,
) -> PackedText:
    """The written pack, or the same one from the cache in `folder`. Raises UsageError for a budget that is too small, and the
    errors of searching and diffing."""
    if request.budget < 1:
        raise UsageError(f"--budget must be at least 1, not {request.budget}")
    allowed_forms(request.forms, layout)
    asked = request
    if request.source == CHANGE:
        request = replace(request, diff=diff_of(request.change, store))
    kept = KeptPacks(folder) if folder else None
    own = settings.classes, settings.weights, settings.aliases, settings.metadata
    key = key_of(request, layout, info, store.edges.count(), *own) if kept else ""
    if kept and (found := kept.find(key, asked)) and _states_now(found[1], store) == found[1]:
        return found[0]
    texts = Texts(store)
    source = _source(request, store, texts, settings)
    wanted = sorted(source.wanted, key=lambda one: one.unit.content_order())
    state = hash_state(info.snapshot, [one.unit.content_order() for one in wanted])
    offers = offers_of(wanted, store, texts)
    if asked.sent and (asked.sent.state != state or len(asked.sent.forms) != len(offers)):
        raise UsageError("this token is out of date: the index or the change is different now", "ask again without it")
    pack = fit(Offers(offers, source.notices, info, state), asked, layout)
    packed = _text(pack, layout, request.options.memory)
    if kept:
        kept.keep(key, packed, _states(pack.entries))
    return packed


def _source(request: ContextRequest, store: Store, texts: Texts, settings: Settings) -> Source:
    sources = {
        TASK: lambda: for_task(request, store, settings),
        FILES: lambda: for_files(request, store),
        CHANGE: lambda: for_change(request, store, texts),
    }
    return sources[request.source]()


def _text(pack: Pack, layout: PackLayout, remembering: bool) -> PackedText:
    return PackedText(
        text=layout.whole(pack),
        exit_code=pack.exit_code,
        symbols=len(pack.entries),
        total=len(pack.entries) + pack.covered + pack.cut_total,
        tokens=pack.tokens,
        notices=pack.notices,
        more=pack.more,
        changed=tuple(_changed(pack.entries)),
        units=tuple(entry.unit for entry in pack.entries) if remembering else (),
    )


def _changed(entries: Iterable[Entry]) -> list[str]:
    return sorted({e.unit.path for e in entries if e.freshness is not Freshness.FRESH})


def _states(entries: Iterable[Entry]) -> States:
    return tuple(sorted({(e.unit.repository, e.unit.path, str(e.freshness)) for e in entries}))


def _states_now(states: States, store: Store) -> States:
    """The present states of these files; files that are not indexed are left out."""
    names = {r.id: r.name for r in store.documents.repositories()}
    wanted = {(name, path) for name, path, _ in states}
    rows = [d for _, path in sorted(wanted) for d in store.documents.by_path(path)]
    documents = {d.id: d for d in rows if (names[d.repository], d.path) in wanted}
    now = document_states(documents.values(), store)
    return tuple(sorted((names[d.repository], d.path, str(now[d.id])) for d in documents.values()))
