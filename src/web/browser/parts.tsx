import { signal, useSignal } from '@preact/signals'
import { type ComponentChildren, toChildArray } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks'
import { address, goTo, hrefOf } from './address.ts'
import { type Answer, type Json, type Refusal, refusalOf, trouble } from './ask.ts'
import { nowMs } from './live-state.ts'
import { shownAge, shownInstant, shownText } from './shown.ts'

type WithChildren = { readonly children?: ComponentChildren }

type LinkProps = WithChildren & { to: string; class?: string; title?: string; label?: string }

/** A link to another view: an ordinary link, which a click follows without reloading the page. */
export function Link({ to, label, children, ...others }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    goTo(to)
  }
  const { path } = address.value
  const isHere = path === to || (to !== '/' && path.startsWith(`${to}/`))
  return (
    <a href={hrefOf(to)} onClick={follow} aria-current={isHere ? 'page' : undefined} aria-label={label} {...others}>
      {children}
    </a>
  )
}

/** A text that somebody else decides about. */
export function Text({ children, max }: { children: string; max?: number }) {
  return <bdi title={children.length > 120 ? shownText(children) : undefined}>{shownText(children, max)}</bdi>
}

/** Such a text in a cell of a table. */
export const Cell = ({ children, max }: { children: string; max: number }) => (
  <td>
    <Text max={max}>{children}</Text>
  </td>
)

export function Panel({ title, label = title, note, aside, flush = false, children }: PanelProps) {
  return (
    <section class="panel" aria-label={label}>
      <header>
        <h2>{title}</h2>
        <span class="grow" />
        {note !== undefined && <span class="small quiet">{note}</span>}
        {aside}
      </header>
      <div class={flush ? 'body flush' : 'body'}>{children}</div>
    </section>
  )
}

type PanelProps = WithChildren & {
  title: string
  label?: string
  /** Quiet words beside the title. */
  note?: ComponentChildren
  aside?: ComponentChildren
  flush?: boolean
}

export const Tag = ({ tone = '', children }: WithChildren & { tone?: string | undefined }) => (
  <span class={`tag ${tone}`}>{children}</span>
)

/** A row of things is one stop of the keyboard; the arrows go from thing to thing. */
export function stepOnArrow(event: KeyboardEvent): void {
  const { currentTarget } = event
  if (!(currentTarget instanceof Element)) return
  const next = event.key === 'ArrowLeft' ? currentTarget.previousElementSibling : currentTarget.nextElementSibling
  if (!/^Arrow(Left|Right)$/.test(event.key)) return
  if (next instanceof HTMLElement || next instanceof SVGElement) next.focus()
}

export const Empty = ({ children }: WithChildren) => <p class="empty">{children}</p>

export function Failed({ error, again }: { error: Refusal; again?: (() => void) | undefined }) {
  return (
    <div class="note bad" role="alert">
      <Text>{error.message}</Text>{' '}
      {error.hint !== '' && (
        <span class="hint">
          <Text>{error.hint}</Text>
        </span>
      )}
      {again && (
        <p>
          <button type="button" onClick={again}>
            Try again
          </button>
        </p>
      )}
    </div>
  )
}

/**
 * Draws an answer in each of its states. A value that may not be true any more is dimmed and dated: it answers a former question, a
 * later try failed, or the page has lost what it asks.
 */
export function Answered<T>({ answer, again, children }: AnsweredProps<T>) {
  if (answer.state === 'loading')
    return (
      <p class="loading" role="status">
        Loading …
      </p>
    )
  if (answer.state === 'failed') return <Failed error={answer.error} again={again} />
  const { error, isFormer, askedAtMs } = answer
  const isStale = isFormer || error !== undefined || trouble.value !== ''
  return (
    <div class={isStale ? 'answered stale' : 'answered'} aria-busy={isFormer}>
      {isStale && <Dated askedAtMs={askedAtMs} error={error} again={again} />}
      {children(answer.value)}
    </div>
  )
}

type AnsweredProps<T> = {
  answer: Answer<T>
  again?: () => void
  children: (value: Json<T>) => ComponentChildren
}

type DatedProps = { askedAtMs: number; error?: Refusal | undefined; again?: (() => void) | undefined }

function Dated({ askedAtMs, error, again }: DatedProps) {
  const at = new Date(askedAtMs).toISOString()
  return (
    <p class="dated small" role="status">
      As of {shownAge(at, nowMs.value)}, {shownInstant(at, 'seconds')}. {error && <Text>{error.message}</Text>}{' '}
      {error && again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </p>
  )
}

/** A table whose rows scroll sideways where they do not fit. `numbers` names the columns that are right-aligned. */
export function Table({ head, numbers = [], label, empty, children }: TableProps) {
  if (empty !== undefined && toChildArray(children).length === 0) return <Empty>{empty}</Empty>
  return (
    <section class="scroll" aria-label={`${label}: the rows`} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head.map((name) =>
              name === '' ? (
                <td key={name} />
              ) : (
                <th key={name} scope="col" class={numbers.includes(name) ? 'number' : undefined}>
                  {name}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  )
}

type TableProps = WithChildren & {
  head: readonly string[]
  numbers?: readonly string[]
  label: string
  /** Shown in place of a table without rows. */
  empty?: string
}

/** The command line that does the same, to copy. */
export function Command({ line }: { line: string }) {
  const copied = useSignal(false)
  const copy = async () => {
    await navigator.clipboard.writeText(line).catch(() => undefined)
    copied.value = true
  }
  return (
    <span class="command">
      <code>{shownText(line)}</code>
      <button type="button" class="plain" onClick={copy} aria-label={`Copy: ${shownText(line, 80)}`}>
        {copied.value ? 'copied' : 'copy'}
      </button>
    </span>
  )
}

type ActionProps = {
  readonly label: string
  /** The object of the action: it distinguishes buttons with one label. */
  readonly about?: string
  readonly command: string
  readonly run: () => Promise<ComponentChildren>
  /** Called when it is done and its end was read: the page may have changed, this button among it. */
  readonly after?: () => void
  /** A question that is asked before it is done. */
  readonly confirm?: ComponentChildren
  readonly tone?: 'primary' | 'danger' | ''
  readonly disabled?: boolean
}

/** The open dialog and whose it is. It belongs to the page: what an action changes may take its button from the page. */
const openDialog = signal<{ id: string; view: string; action: ActionProps } | undefined>(undefined)

/** The place of the open dialog in a page. Another view closes it. */
export function OpenDialog() {
  const open = openDialog.value
  const isHere = open?.view === address.value.path
  const close = () => {
    openDialog.value = undefined
  }
  useEffect(() => {
    if (!isHere) close()
  }, [isHere])
  return open && isHere && <ActionDialog key={open.id} {...open.action} close={close} />
}

/** A button that does what a command does. It shows the command, asks where it must, and shows the result. */
export function Action({ disabled = false, ...action }: ActionProps) {
  const { label, about, command, tone = '' } = action
  const id = useId()
  // Words that are typed into the dialog change the command that it shows.
  useEffect(() => {
    const open = openDialog.peek()
    if (open?.id === id) openDialog.value = { ...open, action }
  })
  return (
    <button
      type="button"
      class={tone}
      disabled={disabled}
      title={command}
      aria-label={about ? `${label}: ${about}` : undefined}
      onClick={() => {
        openDialog.value = { id, view: address.value.path, action }
      }}
    >
      {label}
    </button>
  )
}

function ActionDialog({ label, command, confirm, tone = '', after, run, close }: ActionProps & { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const { result, error, isBusy, start } = useAction(run)
  useLayoutEffect(() => dialog.current?.showModal(), [])
  const end = () => {
    close()
    if (result.value) after?.()
  }
  return (
    <dialog ref={dialog} onClose={end} aria-label={label}>
      <h2>{label}</h2>
      {confirm && <div>{confirm}</div>}
      <Command line={command} />
      {error.value && <Failed error={error.value} />}
      {result.value && (
        <p class="note well" role="status">
          {result.value}
        </p>
      )}
      <div class="row">
        {!result.value && (
          <button type="button" class={tone || 'primary'} disabled={isBusy.value} onClick={start}>
            {isBusy.value ? 'Working …' : label}
          </button>
        )}
        <button type="button" onClick={() => dialog.current?.close()}>
          {result.value ? 'Close' : 'Leave it'}
        </button>
      </div>
    </dialog>
  )
}

function useAction(run: ActionProps['run']) {
  const result = useSignal<ComponentChildren>(undefined)
  const error = useSignal<Refusal | undefined>(undefined)
  const isBusy = useSignal(false)
  const start = async () => {
    isBusy.value = true
    error.value = undefined
    try {
      result.value = (await run()) ?? 'Done.'
    } catch (thrown) {
      error.value = refusalOf(thrown)
    } finally {
      isBusy.value = false
    }
  }
  return { result, error, isBusy, start }
}
