"""Makes a context pack: request → candidates → offers → fit → text, or a cached pack that is still valid."""

from __future__ import annotations

from pathlib import Path

from codelens.config import Settings
from codelens.context.cache import PackCache, hash_request
from codelens.context.changes import read_change
from codelens.context.pack import Offers, fit_pack, select_forms
from codelens.context.parts import hash_state
from codelens.context.sources import check_documents, find_for_change, find_for_files, find_for_task, make_offers
from codelens.errors import UsageError
from codelens.model.code import Freshness, IndexInfo
from codelens.model.context import CHANGE, TASK, ContextRequest, PackedText, PackLayout
from codelens.model.fast_dataclass import replace
from codelens.store.store import Store
from codelens.store.texts import Texts


def write_pack(
    request: ContextRequest, layout: PackLayout, store: Store, info: IndexInfo, settings: Settings, folder: Path | None
) -> PackedText:
    """Make and write a pack, or read the same one from the cache in `folder`. Raises UsageError for a budget that is too small,
    and the errors of searching and diffing."""
    if request.budget < 1:
        raise UsageError(f"--budget must be at least 1, not {request.budget}")
    select_forms(request.forms, layout)
    given = request
    if request.source == CHANGE:
        request = replace(request, diff=read_change(request.change, store))
    cache = PackCache(folder) if folder else None
    if cache:
        setting_files = settings.classes, settings.weights, settings.aliases, settings.metadata
        key = hash_request(request, layout, info, store.edges.count(), *setting_files)
        if cached := cache.find_pack(key, given):
            names = {r.id: r.name for r in store.documents.list_repositories()}
            known = {(name, path) for name, path, _ in cached[1]}  # files that are not indexed any more have no state
            rows = [d for _, path in sorted(known) for d in store.documents.find_by_path(path)]
            documents = {d.id: d for d in rows if (names[d.repository], d.path) in known}
            now = check_documents(documents.values(), store)
            states = sorted((names[d.repository], d.path, str(now[d.id])) for d in documents.values())
            if tuple(states) == cached[1]:
                return cached[0]
    texts = Texts(store)
    if request.source == TASK:
        wanted, notices = find_for_task(request, store, settings)
    elif request.source == CHANGE:
        wanted, notices = find_for_change(request, store, texts)
    else:
        wanted, notices = find_for_files(request, store)
    wanted = sorted(wanted, key=lambda candidate: candidate.unit.content_order())
    state = hash_state(info.snapshot, [candidate.unit.content_order() for candidate in wanted])
    offers = make_offers(wanted, store, texts)
    if given.sent and (given.sent.state != state or len(given.sent.forms) != len(offers)):
        raise UsageError("this token is out of date: the index or the change is different now", "ask again without it")
    pack = fit_pack(Offers(offers, notices, info, state), given, layout)
    packed = PackedText(
        text=layout.format_pack(pack),
        exit_code=pack.exit_code,
        symbols=len(pack.entries),
        total=len(pack.entries) + pack.covered + pack.cut_total,
        tokens=pack.tokens,
        notices=pack.notices,
        more=pack.more,
        changed=tuple(sorted({e.unit.path for e in pack.entries if e.freshness is not Freshness.FRESH})),
        units=tuple(entry.unit for entry in pack.entries) if request.options.memory else (),
    )
    if cache:
        states = sorted({(e.unit.repository, e.unit.path, str(e.freshness)) for e in pack.entries})
        cache.store_pack(key, packed, tuple(states))
    return packed
