import { shownLines } from '../../../web/browser/shown.ts'

const SHOWN_MAX = 60_000

/** A text of several lines: code, or an answer, which somebody else may have written. */
export const CodeBlock = ({ text, label, tall = false }: { text: string; label: string; tall?: boolean }) => (
  <section class={tall ? 'code tall' : 'code'} aria-label={label} tabIndex={0}>
    <pre>{shownLines(text, SHOWN_MAX)}</pre>
  </section>
)
