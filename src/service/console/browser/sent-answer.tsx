import { useSignal } from '@preact/signals'
import { Empty, Panel, Tag } from '../../../web/browser/parts.tsx'
import { shownNumber, shownSpan, shownText } from '../../../web/browser/shown.ts'
import { type ComposedRequest, isSecret } from './compose.ts'
import { CodeBlock } from './console-parts.tsx'
import { toneOfStatus } from './console-state.ts'
import type { SentRequest } from './send-request.ts'

/** The answer as it came: status, time, headers, and the body, JSON by its lines. */
export function SentAnswer({ sent }: { sent: SentRequest | undefined }) {
  if (!sent)
    return (
      <Panel title="Answer">
        <Empty>Nothing was sent yet.</Empty>
      </Panel>
    )
  const { status, statusText, headers, text, bytes, tookMs } = sent
  return (
    <Panel
      title="Answer"
      aside={
        <span class="row small" role="status">
          <Tag tone={status === 0 ? 'bad' : toneOfStatus(status)}>
            {status === 0 ? 'no answer' : `${status} ${statusText}`}
          </Tag>
          <span class="quiet">
            {shownSpan(tookMs)} · {shownNumber(bytes)} bytes
          </span>
        </span>
      }
    >
      <details>
        <summary>Headers</summary>
        <dl class="facts mono small">
          {headers.map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd class="break">{shownText(value, 400)}</dd>
            </>
          ))}
        </dl>
      </details>
      {text === '' ? (
        <Empty>The answer has no body.</Empty>
      ) : (
        <CodeBlock text={byLines(text)} label="Body of the answer" tall />
      )}
    </Panel>
  )
}

/** JSON by its lines; tokens and secrets stay hidden, as on the whole page. */
function byLines(text: string): string {
  try {
    const hide = (name: string, value: unknown) =>
      isSecret(name) && typeof value === 'string' && name !== 'tokenType' ? '…' : value
    return JSON.stringify(JSON.parse(text), hide, 2)
  } catch {
    return text
  }
}

type CodeProps = {
  readonly request: ComposedRequest
  readonly curl: string
  readonly typeScript: string
}

const kinds = ['request', 'curl', 'TypeScript'] as const

/** The request, and the same for a shell and for Node, to copy. */
export function RequestAsCode({ request, curl, typeScript }: CodeProps) {
  const shown = useSignal<(typeof kinds)[number]>('request')
  const copied = useSignal('')
  const texts = { request: asMessage(request), curl, TypeScript: typeScript }
  const text = texts[shown.value]
  const copy = async () => {
    await navigator.clipboard.writeText(text).catch(() => undefined)
    copied.value = shown.value
  }
  return (
    <Panel
      title="The same"
      aside={
        <span class="row">
          <span class="segments">
            {kinds.map((kind) => (
              <button
                key={kind}
                type="button"
                aria-pressed={shown.value === kind}
                onClick={() => {
                  shown.value = kind
                }}
              >
                {kind}
              </button>
            ))}
          </span>
          <button type="button" class="plain" onClick={copy}>
            {copied.value === shown.value ? 'copied' : 'copy'}
          </button>
        </span>
      }
    >
      <CodeBlock text={text} label={`As ${shown.value}`} />
    </Panel>
  )
}

function asMessage({ method, path, headers, body }: ComposedRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const hidden = body?.replace(/("\w*(?:secret|token)\w*": ")[^"]*"/gi, '$1…"')
  return [`${method} ${path}`, ...lines, ...(hidden ? ['', hidden] : [])].join('\n')
}
