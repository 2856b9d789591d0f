# A machine with systemd, and vitalsync where config/systemd expects it.
FROM vitalsync
USER root
RUN apt-get update && apt-get install -y --no-install-recommends systemd && rm -rf /var/lib/apt/lists/* \
  && ln -s /app /opt/vitalsync && ln -s /usr/local/bin/node /usr/bin/node
COPY systemd/ /etc/systemd/system/
ENV container=docker
STOPSIGNAL SIGRTMIN+3
HEALTHCHECK NONE
ENTRYPOINT ["/lib/systemd/systemd"]
CMD []
