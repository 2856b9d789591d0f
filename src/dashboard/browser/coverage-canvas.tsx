import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { changeQuery, goTo } from '../../web/browser/address.ts'
import { dayPlus } from '../../web/browser/shown.ts'
import { type Area, AXIS_PX, cellAt, drawMap, geometryOf, partLetters, ROW_PX } from './map-canvas.ts'
import type { openMapRows } from './map-rows.ts'

type CanvasProps = {
  readonly rows: ReturnType<typeof openMapRows>
  readonly days: number
  readonly lastDay: string
  readonly area: Signal<Area | undefined>
  /** A row that is to come into view, at the top. */
  readonly topRow: Signal<number | undefined>
  /** The cell whose reason is shown. */
  readonly opened: { readonly profileId: string; readonly date: string } | undefined
}

type Cell = { readonly row: number; readonly day: number }

const stateLetters: Readonly<Record<string, string>> = {
  d: 'data',
  e: 'empty',
  s: 'empty_sender',
  f: 'empty_upstream',
  u: 'unsettled',
  n: 'never_read',
  r: 'refused',
  q: 'quarantined',
  x: 'erased_upstream',
}
/** The words for the state of a day, and for the part that is missing of a day with data. */
export const shownState = (state: string, part?: string): string =>
  part ? `data, some ${part}` : state.replace('_', ' ')

/** The map itself: a canvas that stays in view of a scroller as tall as all rows. */
export function CoverageCanvas({ rows, days, lastDay, area, topRow, opened }: CanvasProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const cursor = useSignal<Cell | undefined>(undefined)
  const isKeyboard = useSignal(false)
  const colours = useRef<Record<string, string> | undefined>(undefined)
  void rows.version.value // draws again with each portion
  const total = rows.summary.value?.total ?? 0
  const view = () => ({
    geometry: geometryOf(canvas.current?.clientWidth ?? 0, days),
    topPx: scroller.current?.scrollTop ?? 0,
    total,
  })
  const draw = () => {
    const { current } = canvas
    if (!current) return
    const { topPx, ...rest } = view()
    rows.need(Math.floor(topPx / ROW_PX), Math.floor((topPx + current.clientHeight) / ROW_PX))
    colours.current ??= coloursOf(current)
    const shownCursor = isKeyboard.value ? cursor.value : undefined
    drawMap(current, {
      topPx,
      ...rest,
      rowAt: rows.rowAt,
      lastDay,
      area: area.value,
      cursor: shownCursor,
      opened,
      colours: colours.current,
    })
  }
  useLayoutEffect(() => {
    cursor.value = undefined // it counts rows and days of one selection, as an area does
  }, [rows])
  useDrawing(draw, scroller, colours)
  useTopRow(topRow, scroller)
  const dayAt = (day: number) => dayPlus(lastDay, day - days + 1)
  const open = ({ row, day }: Cell) => {
    const person = rows.rowAt(row)?.profileId
    area.value = undefined
    if (person) changeQuery({ person, date: dayAt(day) })
  }
  const pointer = usePointer({ view, canvas, rows, area, cursor, isKeyboard, open })
  const onKeyDown = keyListener({ cursor, isKeyboard, area, scroller, open, total, days })
  const spoken = cursor.value ? toldCell(rows.rowAt(cursor.value.row), cursor.value, dayAt) : ''
  return (
    <>
      <div ref={scroller} class="map" style={{ height: `${Math.min(total * ROW_PX + AXIS_PX + 4, 560)}px` }}>
        <div style={{ height: `${total * ROW_PX + AXIS_PX}px` }}>
          <canvas
            ref={canvas}
            tabIndex={0}
            role="application"
            aria-label="Coverage map: arrows move, Enter tells the reason"
            onKeyDown={onKeyDown}
            {...pointer}
          />
        </div>
      </div>
      <ToldCell spoken={rows.summary.value ? spoken : 'Loading …'} isKeyboard={isKeyboard.value} />
    </>
  )
}

type KeyDeps = Pick<PointerDeps, 'cursor' | 'isKeyboard' | 'area' | 'open'> & {
  readonly scroller: { current: HTMLDivElement | null }
  readonly total: number
  readonly days: number
}

/** Arrows move, Shift and arrows mark, Enter opens, Escape ends the marking. */
const keyListener =
  ({ cursor, isKeyboard, area, scroller, open, total, days }: KeyDeps) =>
  (event: KeyboardEvent): void => {
    const next = moved(cursor.value, event.key, { total, days })
    if (event.key === 'Enter' && cursor.value) open(cursor.value)
    if (event.key === 'Escape') area.value = undefined
    if (!next) return
    event.preventDefault()
    isKeyboard.value = true
    area.value =
      event.shiftKey && cursor.value ? grown(area.value ?? areaOf(cursor.value, cursor.value), next) : undefined
    cursor.value = next
    keepInView(scroller.current, next.row)
  }

/** A pointer that moves is no news to a screen reader. */
const ToldCell = ({ spoken, isKeyboard }: { spoken: string; isKeyboard: boolean }) => (
  <p class="told small" {...(isKeyboard ? { role: 'status' } : {})}>
    {spoken || <span class="quiet">Point at a day, or move there with the arrows: its state is shown here.</span>}
  </p>
)

/** Brings the row that was asked for into view, once. */
function useTopRow(topRow: CanvasProps['topRow'], scroller: { current: HTMLDivElement | null }): void {
  useEffect(() => {
    if (topRow.value === undefined || !scroller.current) return
    scroller.current.scrollTop = topRow.value * ROW_PX
    topRow.value = undefined
  }, [topRow.value])
}

/** Draws once a frame at most. Colours are read again only when the colour scheme changes: reading them takes longer than drawing. */
function useDrawing(
  draw: () => void,
  scroller: { current: HTMLDivElement | null },
  colours: { current: Record<string, string> | undefined },
): void {
  useEffect(() => {
    let isAsked = false
    const later = () => {
      if (isAsked) return
      isAsked = true
      requestAnimationFrame(() => {
        isAsked = false
        draw()
      })
    }
    later()
    const { current } = scroller
    current?.addEventListener('scroll', later, { passive: true })
    addEventListener('resize', later)
    const recolour = () => {
      colours.current = undefined
      later()
    }
    const looks = new MutationObserver(recolour)
    looks.observe(document.documentElement, { attributes: true })
    const schemes = ['(prefers-color-scheme: dark)', '(forced-colors: active)'].map((query) => matchMedia(query))
    for (const scheme of schemes) scheme.addEventListener('change', recolour)
    const sizes = new ResizeObserver(later)
    if (current) sizes.observe(current)
    return () => {
      current?.removeEventListener('scroll', later)
      removeEventListener('resize', later)
      looks.disconnect()
      for (const scheme of schemes) scheme.removeEventListener('change', recolour)
      sizes.disconnect()
    }
  })
}

type PointerDeps = {
  readonly view: () => Parameters<typeof cellAt>[0]
  readonly canvas: { current: HTMLCanvasElement | null }
  readonly rows: CanvasProps['rows']
  readonly area: CanvasProps['area']
  readonly cursor: Signal<Cell | undefined>
  readonly isKeyboard: Signal<boolean>
  readonly open: (cell: Cell) => void
}

function usePointer({ view, canvas, rows, area, cursor, isKeyboard, open }: PointerDeps) {
  const start = useRef<Cell | undefined>(undefined)
  const under = (event: PointerEvent) => {
    const box = canvas.current?.getBoundingClientRect()
    return cellAt(view(), event.clientX - (box?.left ?? 0), event.clientY - (box?.top ?? 0))
  }
  /** Shows the cell under the pointer; a cell that the keyboard chose stays while the pointer rests. */
  const pointAt = (cell: ReturnType<typeof cellAt>, { movementX, movementY }: PointerEvent) => {
    if (isKeyboard.value && movementX === 0 && movementY === 0) return
    isKeyboard.value = false
    const next = cell?.isName ? undefined : cell
    if (next?.row !== cursor.value?.row || next?.day !== cursor.value?.day) cursor.value = next
  }
  return {
    onPointerLeave() {
      if (!isKeyboard.value) cursor.value = undefined
    },
    onPointerDown(event: PointerEvent) {
      start.current = under(event)
      canvas.current?.setPointerCapture(event.pointerId)
      area.value = undefined
      isKeyboard.value = false
    },
    onPointerMove(event: PointerEvent) {
      const cell = under(event)
      if (!start.current || event.buttons !== 1) return pointAt(cell, event)
      if (!cell) return
      const isSame = cell.row === start.current.row && cell.day === start.current.day
      area.value = isSame ? undefined : areaOf(start.current, cell)
    },
    onPointerCancel() {
      start.current = undefined
    },
    onPointerUp(event: PointerEvent) {
      const cell = under(event)
      start.current = undefined
      if (!cell || area.value) return
      cursor.value = cell
      const profileId = rows.rowAt(cell.row)?.profileId
      if (cell.isName && profileId) goTo(`/people/${profileId}`)
      else open(cell)
    },
  }
}

const areaOf = (a: Cell, b: Cell): Area => ({
  rowFrom: Math.min(a.row, b.row),
  rowTo: Math.max(a.row, b.row),
  dayFrom: Math.min(a.day, b.day),
  dayTo: Math.max(a.day, b.day),
})

const grown = (area: Area, { row, day }: Cell): Area => ({
  rowFrom: Math.min(area.rowFrom, row),
  rowTo: Math.max(area.rowTo, row),
  dayFrom: Math.min(area.dayFrom, day),
  dayTo: Math.max(area.dayTo, day),
})

const steps: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-25, 0],
  PageDown: [25, 0],
}

function moved(
  cell: Cell | undefined,
  key: string,
  { total, days }: { total: number; days: number },
): Cell | undefined {
  const step = steps[key]
  if (!step) return undefined
  const { row, day } = cell ?? { row: 0, day: days - 1 }
  if (!cell) return { row, day }
  const within = (value: number, max: number) => Math.max(0, Math.min(max, value))
  return { row: within(row + step[0], total - 1), day: within(day + step[1], days - 1) }
}

function keepInView(scroller: HTMLElement | null, row: number): void {
  if (!scroller) return
  const [top, bottom] = [row * ROW_PX, (row + 1) * ROW_PX + AXIS_PX]
  if (top < scroller.scrollTop) scroller.scrollTop = top
  else if (bottom > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = bottom - scroller.clientHeight
}

function toldCell(row: { name: string; cells: string } | undefined, { day }: Cell, dayAt: (day: number) => string) {
  if (!row) return ''
  const letter = row.cells[day] ?? ''
  const part = stateLetters[partLetters[letter] ?? '']
  return `${row.name}, ${dayAt(day)}: ${shownState(stateLetters[letter] ?? 'not wanted', part)}`
}

/** The colours of the design system, which know light and dark: read from elements, for a canvas knows no variables. */
function coloursOf(canvas: HTMLElement): Record<string, string> {
  const probe = document.createElement('i')
  probe.className = 'probe'
  canvas.parentElement?.append(probe)
  const read = (variable: string) => {
    probe.style.color = `var(${variable})`
    return getComputedStyle(probe).color
  }
  const days = Object.entries(stateLetters).map(([letter, state]) => [letter, read(`--day-${state}`)])
  const others = ['ink', 'quiet', 'focus'].map((name) => [name, read(`--${name}`)])
  probe.remove()
  return Object.fromEntries([...days, ...others])
}
