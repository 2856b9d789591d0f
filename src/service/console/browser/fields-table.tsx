import { Table, Tag } from '../../../web/browser/parts.tsx'
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
