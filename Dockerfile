# calib as a service: docker build -t calib . && docker run --rm --read-only --tmpfs /tmp -p 127.0.0.1:8501:8501 calib
# The base image is named by digest; docs/deploy.md says how to move to a newer one.
ARG BASE=python:3.12.14-slim-trixie@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea
FROM ${BASE}

RUN useradd --system --uid 10001 --no-create-home --home-dir /app calib
WORKDIR /app
COPY requirements-pip.txt requirements-hashed.txt ./
RUN pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements-pip.txt
RUN pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements-hashed.txt
COPY .streamlit .streamlit
COPY assets assets
COPY calib calib
COPY pages pages
COPY app.py serve.py ./
RUN python -m compileall -q calib pages app.py serve.py

USER calib
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOME=/tmp
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["python", "-c", \
    "import urllib.request as r; r.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
CMD ["python", "serve.py", "--server.address=0.0.0.0", "--server.port=8501", "--server.fileWatcherType=none"]
