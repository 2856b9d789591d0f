# Stands in for redis:8-alpine and redis:7-alpine: Debian's Redis 7.
FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends redis-server && rm -rf /var/lib/apt/lists/* \
  && install -d -o redis -g redis /data
WORKDIR /data
USER redis
EXPOSE 6379
# As in those images, whoever reaches the port may ask, where no password is set.
ENTRYPOINT ["sh", "-c", "exec \"$@\" --protected-mode no", "--"]
CMD ["redis-server"]
