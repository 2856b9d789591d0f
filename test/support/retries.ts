/** Second tries for tests: none, but in the clean check, whose machine may stand still for seconds. What needs one is listed. */
export const retries = Number(process.env['TEST_RETRIES'] ?? 0)
