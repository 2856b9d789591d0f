import type { Signal } from '@preact/signals'
import { Table, Tag } from '../../../web/browser/parts.tsx'
import { shownLines } from '../../../web/browser/shown.ts'
import type { ShownOperation } from './compose.ts'

type Fields = NonNullable<ShownOperation['body']>['fields']

/** The fields of a body or of an answer, in plain words. */
export function FieldsTable({ fields, label }: { fields: Fields; label: string }) {
  return (
    <Table head={['name', 'type', 'note']} label={label}>
      {fields.map(({ path, type, required, note }) => (
        <tr key={path}>
          <td class="mono">{path}</td>
          <td>{type}</td>
          <td>
            {required && <Tag>required</Tag>} {note}
          </td>
        </tr>
      ))}
    </Table>
  )
}

const SHOWN_MAX = 60_000

/** A text of several lines: code, or an answer, which somebody else may have written. */
export const CodeBlock = ({ text, label, tall = false }: { text: string; label: string; tall?: boolean }) => (
  <section class={tall ? 'code tall' : 'code'} aria-label={label} tabIndex={0}>
    <pre>{shownLines(text, SHOWN_MAX)}</pre>
  </section>
)

/** Writes the text of an input into a signal. */
export const into =
  (field: Signal<string>) =>
  ({ currentTarget }: { readonly currentTarget: { readonly value: string } }): void => {
    field.value = currentTarget.value
  }
