import { useSignal } from '@preact/signals'
import { Select } from '../../../web/browser/inputs.tsx'
import { Panel } from '../../../web/browser/parts.tsx'
import { type Filled, isSecret, type Parameter, type ShownOperation } from './compose.ts'
import { FieldsTable } from './console-parts.tsx'

type InputsProps = {
  readonly operation: ShownOperation
  readonly filled: Filled
  readonly fill: (name: string, text: string) => void
}

/** The parameters of the query and the headers; the person of the path is chosen above. */
export function ParameterInputs({ operation, filled, fill }: InputsProps) {
  const shown = operation.parameters.filter(({ location }) => location !== 'path')
  if (shown.length === 0) return null
  return (
    <Panel title="Parameters">
      <div class="inputs">
        {shown.map((parameter) => (
          <ParameterInput key={parameter.name} parameter={parameter} text={filled[parameter.name] ?? ''} fill={fill} />
        ))}
      </div>
    </Panel>
  )
}

type ParameterProps = { parameter: Parameter; text: string; fill: InputsProps['fill'] }

function ParameterInput({ parameter: { name, type, note, required, choices, isList }, text, fill }: ParameterProps) {
  if (choices.length > 0 && choices.length <= CHOICES_SHOWN && isList)
    return <ChoiceInput name={name} choices={choices} text={text} fill={fill} />
  return (
    <label class="block" title={note}>
      {name}
      {required ? ' (required)' : ''}
      <input
        value={text}
        placeholder={placeholderOf(type, isList)}
        list={choices.length > 0 ? `${name}-choices` : undefined}
        autocomplete="off"
        onInput={(event) => fill(name, event.currentTarget.value)}
      />
      {choices.length > 0 && (
        <datalist id={`${name}-choices`}>
          {choices.map((choice) => (
            <option key={choice} value={choice} />
          ))}
        </datalist>
      )}
    </label>
  )
}

const CHOICES_SHOWN = 12

const placeholderOf = (type: string, isList: boolean): string =>
  isList ? 'all; several with commas' : type === 'date-time' ? '2026-07-11T00:00:00Z' : type

function ChoiceInput({
  name,
  choices,
  text,
  fill,
}: {
  name: string
  choices: readonly string[]
  text: string
  fill: InputsProps['fill']
}) {
  const chosen = text.split(',').filter((word) => word !== '')
  const toggle = (word: string) => {
    const next = chosen.includes(word) ? chosen.filter((kept) => kept !== word) : [...chosen, word]
    fill(name, next.join(','))
  }
  return (
    <fieldset>
      <legend>{name}</legend>
      {choices.map((choice) => (
        <button
          key={choice}
          type="button"
          class="chip"
          aria-pressed={chosen.includes(choice)}
          onClick={() => toggle(choice)}
        >
          {choice}
        </button>
      ))}
    </fieldset>
  )
}

/** A flat body has an input for each field; another one is written as JSON, beginning with the example of the reference. */
export function BodyInputs({ operation, filled, fill }: InputsProps) {
  const { body } = operation
  const isShown = useSignal(false)
  if (!body) return null
  return (
    <Panel title={body.required ? 'Body' : 'Body, which may be absent'} note={body.inputs ? '' : body.shape}>
      {body.inputs ? (
        <div class="inputs">
          {body.inputs.map((input) => (
            <BodyInput key={input.name} input={input} text={filled[`body.${input.name}`] ?? ''} fill={fill} />
          ))}
        </div>
      ) : (
        <label class="block">
          JSON
          <textarea
            rows={14}
            spellcheck={false}
            value={filled['body'] ?? ''}
            onInput={(event) => fill('body', event.currentTarget.value)}
          />
        </label>
      )}
      {!body.inputs && body.fields.length > 0 && (
        <details
          open={isShown.value}
          onToggle={(event) => {
            isShown.value = event.currentTarget.open
          }}
        >
          <summary>Its fields</summary>
          {isShown.value && <FieldsTable fields={body.fields} label="Fields of the body" />}
        </details>
      )}
    </Panel>
  )
}

function BodyInput({
  input: { name, type, note, required, value, choices },
  text,
  fill,
}: {
  input: NonNullable<NonNullable<ShownOperation['body']>['inputs']>[number]
  text: string
  fill: InputsProps['fill']
}) {
  const options = value === 'switch' ? ['true', 'false'] : choices
  const attributes = { value: text, placeholder: type, autocomplete: 'off' } as const
  const onInput = ({ currentTarget }: { currentTarget: { value: string } }) => fill(`body.${name}`, currentTarget.value)
  const title = `${name}${required ? ' (required)' : ''}`
  if (options.length > 0)
    return (
      <label class="block" title={note}>
        {title}
        <Select value={text} options={[['', 'absent'], ...options]} choose={(option) => fill(`body.${name}`, option)} />
      </label>
    )
  if (isSecret(name))
    return (
      <label class="block" title={note}>
        {title}
        <input type="password" {...attributes} onInput={onInput} />
      </label>
    )
  return (
    <label class="block" title={note}>
      {title}
      <input {...attributes} onInput={onInput} />
    </label>
  )
}
