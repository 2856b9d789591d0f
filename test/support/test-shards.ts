/** Into how many buckets the profiles of a test are divided: `WAREHOUSE_SHARDS=16 npm test` tries the statements of a divided warehouse. */
export const testShards = Number(process.env['WAREHOUSE_SHARDS'] || 1)
