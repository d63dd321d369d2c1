# syntax=docker/dockerfile:1
# The service with its default models inside: docker build --build-arg VERSION=0.1.0 --tag mudy .
# It asks no network when it runs. Give it a key: docker run --publish 8000:8000 --env MUDY_API_KEY=secret mudy

FROM python:3.12-slim AS build
ARG VERSION=0+unknown
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore \
    MUDY_HOME=/opt/mudy-home
WORKDIR /build
RUN python -m venv /opt/mudy
ENV PATH=/opt/mudy/bin:$PATH
COPY lock/run.txt lock/run.txt
RUN pip install --require-hashes --no-deps --requirement lock/run.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
# The version comes from git's tags, which are not copied. The first extraction writes the 8-bit weights.
RUN SETUPTOOLS_SCM_PRETEND_VERSION="$VERSION" pip install --no-deps --no-build-isolation . \
    && mudy models pull gemma3-270m minilm-l6 \
    && mudy extract --quiet --text "River gauges measure the flood."

FROM python:3.12-slim
LABEL org.opencontainers.image.title="MUDY" \
      org.opencontainers.image.description="Extract keyphrases from any text with a pre-trained language model" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/opt/mudy/bin:$PATH MUDY_HOME=/opt/mudy-home MUDY_OFFLINE=1 PYTHONUNBUFFERED=1
COPY --from=build /opt/mudy /opt/mudy
COPY --from=build /opt/mudy-home /opt/mudy-home
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin mudy
USER 10001
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
# It listens beyond the container only with MUDY_API_KEY, and says so without one.
CMD ["mudy", "serve", "--host", "0.0.0.0", "--port", "8000"]
