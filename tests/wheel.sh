#!/bin/sh
# Build the wheel, install it into an empty environment, and use it outside the checkout. Usage: wheel.sh PYTHON_WITH_BUILD
set -eu
builder=$(pwd)/$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$builder" -m build --wheel --no-isolation --outdir "$work/dist" . >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
"$builder" -m venv --without-pip "$work/env"
"$builder" -m pip --python "$work/env/bin/python" install --quiet --no-compile "$work"/dist/*.whl
cp -r sample_repos/notes/repo "$work/notes"
cd "$work/notes"
"$work/env/bin/codelens" --version
"$work/env/bin/codelens" index
"$work/env/bin/codelens" search "save a note" | head -3
"$work/env/bin/codelens" why -m 1 "save a note" >/dev/null
ls "$work"/env/lib/python*/site-packages/codelens/migrations/0001_*.sql >/dev/null
test -s "$work/env/share/man/man1/codelens.1"
for shell in bash:bash-completion/completions/codelens zsh:zsh/site-functions/_codelens fish:fish/vendor_completions.d/codelens.fish; do
    "$work/env/bin/codelens" --show-completion "${shell%%:*}" >"$work/script"
    cmp "$work/script" "$work/env/share/${shell#*:}"
done
echo "wheel: 1 passed, 0 failed"
