# Stands in for postgres:18-alpine: Debian's Postgres 15, with the variables, the folder and the first start of that image.
FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends postgresql gosu && rm -rf /var/lib/apt/lists/*
ENV PATH=/usr/lib/postgresql/15/bin:$PATH PGDATA=/var/lib/postgresql/15/docker
RUN install -d -o postgres -g postgres /var/lib/postgresql /var/run/postgresql && mkdir /docker-entrypoint-initdb.d
COPY postgres-entrypoint.sh /usr/local/bin/docker-entrypoint.sh
STOPSIGNAL SIGINT
EXPOSE 5432
ENTRYPOINT ["sh", "/usr/local/bin/docker-entrypoint.sh"]
CMD ["postgres"]
