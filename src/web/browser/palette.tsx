import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { goTo } from './address.ts'
import { Text } from './parts.tsx'

/** A place that the palette leads to. */
export type Place = { readonly path: string; readonly label: string; readonly kind: string }

type PaletteProps = {
  /** The places that fit a text, the best first. Aborted when the text has changed. */
  readonly find: (text: string, signal: AbortSignal) => Promise<readonly Place[]>
  readonly hint: string
}

/** Opened by Ctrl-K or ⌘K: leads to a page, a person or a run by a few letters. */
export function Palette({ find, hint }: PaletteProps) {
  const isOpen = useSignal(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.shiftKey) return
      event.preventDefault()
      isOpen.value = !isOpen.value
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  const close = () => {
    isOpen.value = false
  }
  return (
    <>
      <button type="button" class="find" aria-keyshortcuts="Control+K" onClick={() => (isOpen.value = true)}>
        Go to … <kbd>Ctrl K</kbd>
      </button>
      {isOpen.value && <PaletteDialog find={find} hint={hint} close={close} />}
    </>
  )
}

function PaletteDialog({ find, hint, close }: PaletteProps & { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const text = useSignal('')
  const found = useFound(find, text.value)
  const { places } = found
  const chosen = useSignal(0)
  const isEntered = useSignal(false)
  const index = Math.min(chosen.value, places.length - 1)
  // Before the next key: an Escape that comes before the dialog is open would be lost.
  useLayoutEffect(() => dialog.current?.showModal(), [])
  const open = (place: Place | undefined) => {
    if (!place) return
    close()
    goTo(place.path)
  }
  // Enter may come before the places of the text: it waits for them, and does not take a place of the text before.
  useEffect(() => {
    if (isEntered.value && found.text === text.value) open(places[index])
  }, [isEntered.value, found])
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Enter') isEntered.value = true
    if (step === undefined) return
    event.preventDefault()
    chosen.value = Math.max(0, Math.min(places.length - 1, index + step))
  }
  return (
    <dialog ref={dialog} class="palette" aria-label="Go to" onClose={close}>
      <input
        type="text"
        role="combobox"
        aria-label="Go to"
        aria-expanded="true"
        aria-controls="palette-places"
        aria-activedescendant={places.length > 0 ? `palette-${index}` : undefined}
        placeholder={hint}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value
          chosen.value = 0
          isEntered.value = false
        }}
        onKeyDown={onKeyDown}
      />
      <div id="palette-places" role="listbox" aria-label="Places">
        {places.map((place, at) => (
          <button
            key={place.path}
            id={`palette-${at}`}
            type="button"
            role="option"
            tabIndex={-1}
            aria-selected={at === index}
            onClick={() => open(place)}
          >
            <Text max={100}>{place.label}</Text> <span class="small quiet">{place.kind}</span>
          </button>
        ))}
      </div>
      {places.length === 0 && <p class="quiet">Nothing begins so.</p>}
    </dialog>
  )
}

type Found = { readonly text: string; readonly places: readonly Place[] }

/** The places that were found last, and the text that they belong to. */
function useFound(find: PaletteProps['find'], text: string): Found {
  const found = useSignal<Found>({ text: '', places: [] })
  useEffect(() => {
    const stop = new AbortController()
    find(text.trim(), stop.signal).then(
      (places) => {
        if (!stop.signal.aborted) found.value = { text, places }
      },
      () => undefined, // the banner of the page says why
    )
    return () => stop.abort()
  }, [text])
  return found.value
}
