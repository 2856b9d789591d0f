import { useSignal } from '@preact/signals'

type DraftInputProps = {
  readonly type: 'date' | 'search'
  readonly value: string
  readonly onCommit: (text: string) => void
  readonly placeholder?: string
  readonly label?: string
}

/** An input that keeps what is typed while the page around it renders again, until the text is committed or left. */
export function DraftInput({ type, value, onCommit, placeholder, label }: DraftInputProps) {
  const draft = useSignal<string | undefined>(undefined)
  const attributes = {
    value: draft.value ?? value,
    placeholder,
    'aria-label': label,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
      draft.value = currentTarget.value
    },
    onChange: ({ currentTarget }: { currentTarget: HTMLInputElement }) => onCommit(currentTarget.value),
    onBlur: () => {
      draft.value = undefined
    },
  }
  return type === 'date' ? <input type="date" {...attributes} /> : <input type="search" {...attributes} />
}

/** A choice of one. An option is a word, or a value with the words that are shown for it. */
export const Select = ({ value, options, choose, label }: SelectProps) => (
  <select value={value} aria-label={label} onChange={(event) => choose(event.currentTarget.value)}>
    {options.map((option) => {
      const [name, shown] = typeof option === 'string' ? [option, option] : option
      return (
        <option key={name} value={name}>
          {shown}
        </option>
      )
    })}
  </select>
)

type SelectProps = {
  readonly value: string
  readonly options: ReadonlyArray<string | readonly [value: string, shown: string]>
  readonly choose: (value: string) => void
  readonly label?: string
}

/** A choice of one whose label is shown. */
export const LabelledSelect = ({ label, title, ...choice }: SelectProps & { readonly title?: string }) => (
  <label title={title}>
    {label}
    <Select {...choice} />
  </label>
)

type SegmentsProps<T extends string> = {
  readonly value: string
  readonly options: ReadonlyArray<readonly [value: T, shown: string, title?: string]>
  readonly choose: (value: T) => void
}

/** A choice of one by buttons in a row. */
export const Segments = <T extends string>({ value, options, choose }: SegmentsProps<T>) => (
  <span class="segments">
    {options.map(([name, shown, title]) => (
      <button key={name} type="button" title={title} aria-pressed={name === value} onClick={() => choose(name)}>
        {shown}
      </button>
    ))}
  </span>
)
