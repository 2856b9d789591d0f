/** How the state of a run is coloured. */
export const runTones: Readonly<Record<string, string>> = {
  running: 'busy',
  done: 'well',
  stopped: 'odd',
  failed: 'bad',
}
