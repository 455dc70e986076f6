# codelens with what a cluster needs: scheduler, workers and server are this image with other commands. See docs/organisation.md.
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY codelens codelens
COPY migrations migrations
COPY packaging packaging
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
    && python -m venv /opt/codelens \
    && /opt/codelens/bin/pip install --no-cache-dir "$(echo /wheels/codelens-*.whl)[cluster,serve]" "s3fs>=2025.1"

FROM python:3.12-slim
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --no-create-home --home-dir /nonexistent codelens \
    && install --directory --owner codelens --mode 0700 /cache /config /scratch
COPY --from=build /opt/codelens /opt/codelens
# The root file system may be read-only: keys are in /config, copies of shards in /cache, trees that are being indexed in /scratch.
ENV PATH=/opt/codelens/bin:$PATH \
    HOME=/config \
    XDG_CACHE_HOME=/cache \
    XDG_CONFIG_HOME=/config \
    PYTHONDONTWRITEBYTECODE=1
USER 10001
EXPOSE 8640
CMD ["codelens", "--help"]
