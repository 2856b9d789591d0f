import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

type Box = { readonly x: number; readonly y: number; readonly width: number; readonly height: number }

/** The values of a drawing: the pointer, and the arrow keys, go from one to the next. */
type Readings = {
  readonly count: number
  /** The value that is read before one is chosen; the last one where this is not said. */
  readonly newest?: number
  /** The place of a value, which is marked while the value is read. */
  boxOf(index: number, width: number): Box
  /** `2026-03-01: sleep 0.71` */
  textOf(index: number): string
}

type FittedProps = {
  readonly height: number | ((width: number) => number)
  readonly label: string
  /** `group` for a drawing that holds links. */
  readonly role?: 'img' | 'group'
  readonly class?: string
  readonly readings?: Readings
  /** Draws for a width in pixels. */
  readonly children: (width: number) => ComponentChildren
}

/** A drawing as wide as its place, pixel for pixel: texts keep their size on every screen. */
export function FittedSvg({ height, label, role = 'img', class: name, readings, children }: FittedProps) {
  const place = useRef<HTMLDivElement>(null)
  const width = useSignal(0)
  const { at, isKeyboard, listeners } = useReadings(readings, width.value)
  useLayoutEffect(() => {
    const { current } = place
    if (!current) return
    const measure = () => {
      width.value = Math.floor(current.clientWidth)
    }
    measure()
    const sizes = new ResizeObserver(measure)
    sizes.observe(current)
    return () => sizes.disconnect()
  }, [])
  const heightPx = typeof height === 'number' ? height : height(width.value)
  return (
    <>
      <div ref={place} class="fitted" style={{ minHeight: `${heightPx}px` }}>
        {width.value > 0 && (
          <svg
            viewBox={`0 0 ${width.value} ${heightPx}`}
            width={width.value}
            height={heightPx}
            class={name}
            role={role}
            aria-label={readings ? `${label}; arrows read the values` : label}
            {...listeners}
          >
            {children(width.value)}
            {readings && at.isRead && <rect class="reading" {...readings.boxOf(at.index, width.value)} />}
          </svg>
        )}
      </div>
      {readings && (
        <p class="small quiet value" {...(isKeyboard ? { role: 'status' } : {})}>
          {readings.textOf(at.index)}
        </p>
      )}
    </>
  )
}

const keySteps: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowUp: -1,
  ArrowRight: 1,
  ArrowDown: 1,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
}

/** The value that is read: the newest, until the pointer or the keyboard chooses. */
function useReadings(readings: Readings | undefined, width: number) {
  const chosen = useSignal<number | undefined>(undefined)
  const isKeyboard = useSignal(false)
  const last = (readings?.count ?? 0) - 1
  const index = Math.max(0, Math.min(last, chosen.value ?? readings?.newest ?? last))
  const at = { index, isRead: chosen.value !== undefined }
  if (!readings || last < 0) return { at, isKeyboard: false, listeners: {} }
  const indexUnder = ({ clientX, clientY, currentTarget }: PointerEvent) => {
    const drawing = (currentTarget as Element).getBoundingClientRect() // the svg that listens
    const [left, top] = [clientX - drawing.left, clientY - drawing.top]
    for (let index = 0; index <= last; index += 1) {
      const { x, y, width: wide, height } = readings.boxOf(index, width)
      if (left >= x && left < x + wide && top >= y && top < y + height) return index
    }
    return undefined
  }
  const listeners = {
    tabIndex: 0,
    onPointerMove(event: PointerEvent) {
      isKeyboard.value = false
      chosen.value = indexUnder(event) ?? chosen.value
    },
    onPointerLeave() {
      if (!isKeyboard.value) chosen.value = undefined
    },
    onBlur() {
      chosen.value = undefined
    },
    onKeyDown(event: KeyboardEvent) {
      const step = keySteps[event.key]
      if (step === undefined) return
      event.preventDefault()
      isKeyboard.value = true
      chosen.value = Math.max(0, Math.min(last, index + step))
    },
  }
  return { at, isKeyboard: isKeyboard.value, listeners }
}
