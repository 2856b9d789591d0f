import type { Signal } from '@preact/signals'

type Typed = { readonly currentTarget: { readonly value: string } }

/** Writes the text of an input into a signal. */
export const into =
  (field: Signal<string>) =>
  ({ currentTarget }: Typed): void => {
    field.value = currentTarget.value
  }
