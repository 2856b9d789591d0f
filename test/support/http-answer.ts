import type { HttpResponse } from '../../src/pipeline/upstream/http.ts'

/** An answer of upstream without a header and without a body, unless `more` brings them. */
export const answer = (status: number, more: Partial<HttpResponse> = {}): HttpResponse => ({
  ...{ status, date: undefined, retryAfter: undefined, tag: undefined, derivationState: undefined },
  ...{ body: Buffer.alloc(0), sink: undefined },
  ...more,
})
