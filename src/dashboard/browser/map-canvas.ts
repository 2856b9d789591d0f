import { DAY } from '../../base/time/units.ts'
import { dayPlus, wholeLetters } from '../../web/browser/shown.ts'

/** Draws the coverage map: only the rows that are in view, on one canvas. */

type MapGeometry = {
  readonly nameWidth: number
  readonly cellWidth: number
  readonly days: number
}

/** An area of cells, both ends included. */
export type Area = {
  readonly rowFrom: number
  readonly rowTo: number
  readonly dayFrom: number
  readonly dayTo: number
}

type Drawing = {
  readonly geometry: MapGeometry
  readonly topPx: number
  readonly rowAt: (
    index: number,
  ) => { readonly profileId: string; readonly name: string; readonly cells: string } | undefined
  readonly total: number
  readonly lastDay: string
  readonly area: Area | undefined
  readonly cursor: { readonly row: number; readonly day: number } | undefined
  readonly opened: { readonly profileId: string; readonly date: string } | undefined
  readonly colours: Readonly<Record<string, string>>
}

export const ROW_PX = 18
const CELL_PX = ROW_PX - 2
/** Less than half: the ground between the halves is seen where colours are not. */
const HALF_PX = CELL_PX / 2 - 1
/** The letters of days with data where a part is missing, each with the letter of the part's state. */
export const partLetters: Readonly<Record<string, string>> = { R: 'r', Q: 'q' }
const ROWS_IN_VIEW_MAX = 40
/** The dates above the rows stay in view. */
export const AXIS_PX = 20

export function geometryOf(widthPx: number, days: number): MapGeometry {
  const nameWidth = Math.min(200, Math.max(90, Math.floor(widthPx * 0.18)))
  return { nameWidth, cellWidth: Math.max(0.1, (widthPx - nameWidth - 8) / days), days }
}

export function drawMap(canvas: HTMLCanvasElement, drawing: Drawing): void {
  const { clientWidth: width, clientHeight: height } = canvas
  const scale = devicePixelRatio
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale)
    canvas.height = Math.round(height * scale)
  }
  const context = canvas.getContext('2d')
  if (!context) return
  context.setTransform(scale, 0, 0, scale, 0, 0)
  context.clearRect(0, 0, width, height)
  context.font = '12px system-ui, sans-serif'
  context.textBaseline = 'middle'
  const first = Math.floor(drawing.topPx / ROW_PX)
  const last = Math.min(drawing.total - 1, Math.floor((drawing.topPx + height) / ROW_PX))
  for (let index = first; index <= last; index += 1) drawRow(context, drawing, index)
  drawGaps(context, drawing.geometry, height)
  drawMarks(context, drawing)
  drawDates(context, drawing, width)
}

function drawRow(context: CanvasRenderingContext2D, drawing: Drawing, index: number): void {
  const { geometry, topPx, rowAt, colours } = drawing
  const { nameWidth, cellWidth, days } = geometry
  const y = AXIS_PX + index * ROW_PX - topPx
  const row = rowAt(index)
  context.fillStyle = colours[row ? 'ink' : 'quiet'] ?? ''
  context.fillText(fitted(context, row?.name ?? '…', nameWidth - 12), 4, y + ROW_PX / 2)
  if (!row) return
  // Neighbours of one state are one rectangle: a screen of cells is a few hundred of them.
  for (let day = 0; day < days; ) {
    const letter = row.cells[day] ?? '.'
    let end = day + 1
    while (end < days && (row.cells[end] ?? '.') === letter) end += 1
    const part = partLetters[letter]
    const parts = part ? ['d', part] : [letter]
    const height = parts.length === 1 ? CELL_PX : HALF_PX
    for (const [index, shown] of parts.entries()) {
      context.fillStyle = colours[shown] ?? 'transparent'
      const top = y + 1 + index * (CELL_PX - HALF_PX)
      context.fillRect(nameWidth + day * cellWidth, top, (end - day) * cellWidth, height)
    }
    day = end
  }
}

/** Wide cells are separated by a line between the days. */
function drawGaps(
  context: CanvasRenderingContext2D,
  { nameWidth, cellWidth, days }: MapGeometry,
  height: number,
): void {
  if (cellWidth <= 5) return
  for (let day = 1; day <= days; day += 1) context.clearRect(nameWidth + day * cellWidth - 1, 0, 1, height)
}

/** As many dates as do not touch, each at the left edge of its day. */
function drawDates(context: CanvasRenderingContext2D, { geometry, lastDay, colours }: Drawing, width: number): void {
  const { nameWidth, cellWidth, days } = geometry
  context.clearRect(0, 0, width, AXIS_PX)
  context.fillStyle = colours['quiet'] ?? ''
  const isLong = days > 120 // in a year, the labels say the year
  const dateWidth = isLong ? 80 : 56
  const apart = Math.max(1, Math.ceil(dateWidth / cellWidth))
  for (let day = 0; day < days; day += apart) {
    const x = nameWidth + day * cellWidth
    if (x + dateWidth - 8 > width) break
    context.fillRect(x, AXIS_PX - 4, 1, 4)
    context.fillText(dayPlus(lastDay, day - days + 1).slice(isLong ? 0 : 5), x, AXIS_PX / 2 - 2)
  }
}

/** Widths are measured once for each name and width: measuring is what scrolling would wait for. */
const fittedNames = new Map<string, string>()
const FITTED_KEPT_MAX = 5000

function fitted(context: CanvasRenderingContext2D, name: string, width: number): string {
  const key = `${width} ${name}`
  const known = fittedNames.get(key)
  if (known !== undefined) return known
  // Names often begin alike, and differ at their end: the middle goes.
  const letters = wholeLetters(name, name.length)
  let text = name
  for (let kept = letters.length; kept > 2 && context.measureText(text).width > width; ) {
    kept -= Math.ceil(kept / 10)
    const tail = Math.floor(kept / 2)
    text = [...letters.slice(0, kept - tail), '…', ...letters.slice(letters.length - tail)].join('')
  }
  if (fittedNames.size > FITTED_KEPT_MAX) fittedNames.clear()
  fittedNames.set(key, text)
  return text
}

function drawMarks(context: CanvasRenderingContext2D, drawing: Drawing): void {
  const { geometry, topPx, area, cursor, colours } = drawing
  const { nameWidth, cellWidth } = geometry
  context.strokeStyle = colours['focus'] ?? ''
  context.lineWidth = 2
  /** Around the cells, and not upon them: a narrow cell stays visible. */
  const outline = ({ rowFrom, rowTo, dayFrom, dayTo }: Area) =>
    context.strokeRect(
      nameWidth + dayFrom * cellWidth - 1,
      AXIS_PX + rowFrom * ROW_PX - topPx,
      (dayTo - dayFrom + 1) * cellWidth + (cellWidth > 5 ? 1 : 2),
      (rowTo - rowFrom + 1) * ROW_PX,
    )
  const cell = cursor ?? openedCell(drawing)
  if (area) outline(area)
  else if (cell) outline({ rowFrom: cell.row, rowTo: cell.row, dayFrom: cell.day, dayTo: cell.day })
}

/** The cell whose reason is shown, where its row is in view. */
function openedCell({ geometry, topPx, opened, lastDay, rowAt, total }: Drawing) {
  if (!opened) return undefined
  const first = Math.floor(topPx / ROW_PX)
  const rows = Array.from({ length: ROWS_IN_VIEW_MAX }, (_, index) => first + index)
  const row = rows.find((index) => index < total && rowAt(index)?.profileId === opened.profileId)
  const day = geometry.days - 1 - Math.round((Date.parse(lastDay) - Date.parse(opened.date)) / DAY)
  return row === undefined || day < 0 || day >= geometry.days ? undefined : { row, day }
}

/** The cell under a point of the canvas. */
export function cellAt(
  { geometry, topPx, total }: Pick<Drawing, 'geometry' | 'topPx' | 'total'>,
  x: number,
  y: number,
) {
  const row = Math.floor((y - AXIS_PX + topPx) / ROW_PX)
  const day = Math.floor((x - geometry.nameWidth) / geometry.cellWidth)
  if (y < AXIS_PX || row < 0 || row >= total || day >= geometry.days) return undefined
  return { row, day: Math.max(0, day), isName: x < geometry.nameWidth }
}
