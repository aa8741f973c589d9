# docker build -t featly .
# docker run --rm -v "$PWD:/data" featly rank tumours.csv --target outcome
FROM python:3.12-slim AS wheel
WORKDIR /source
COPY . .
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=wheel /wheels /wheels
RUN python -m pip install --no-cache-dir "$(echo /wheels/featly-*.whl)[report]" && rm -r /wheels
RUN useradd --uid 1000 --create-home featly
USER 1000
# Compiled loops come with the image. They are for the processor that built it; on another one
# they are compiled again, in this folder, when they are first used.
ENV FEATLY_CACHE_DIR=/home/featly/kernels
RUN featly warm
WORKDIR /data
ENTRYPOINT ["featly"]
CMD ["--help"]
