/** The callers that listen to a signal, and the one event listener that serves them. */
type Listening = { readonly calls: Set<() => void>; readonly listener: () => void }

const listeningTo = new WeakMap<AbortSignal, Listening>()

/**
 * Calls back when the signal aborts, unless the returned function is called before. All callers of a signal share an event listener: to
 * add and remove one for each request of a job costs as much as to write the request. The last caller to stop removes it.
 */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  const listening = listeningTo.get(signal) ?? listenTo(signal)
  const { calls, listener } = listening
  calls.add(call)
  return () => {
    calls.delete(call)
    if (calls.size > 0 || listeningTo.get(signal) !== listening) return
    listeningTo.delete(signal)
    signal.removeEventListener('abort', listener)
  }
}

function listenTo(signal: AbortSignal): Listening {
  const calls = new Set<() => void>()
  const listener = () => {
    for (const call of calls) call()
  }
  const listening = { calls, listener }
  listeningTo.set(signal, listening)
  signal.addEventListener('abort', listener)
  return listening
}
