import { useSignal } from '@preact/signals'

type Selection = ReturnType<typeof useSelection>

/** Rows of a list that are chosen together. A row that leaves the list leaves the choice. */
export function useSelection(shownIds: readonly string[]) {
  const chosen = useSignal<ReadonlySet<string>>(new Set())
  return {
    /** The chosen rows among those that are shown. */
    ids: shownIds.filter((id) => chosen.value.has(id)),
    has: (id: string) => chosen.value.has(id),
    set(ids: readonly string[], isChosen: boolean) {
      const next = new Set(chosen.value)
      for (const id of ids)
        if (isChosen) next.add(id)
        else next.delete(id)
      chosen.value = next
    },
  }
}

export const SelectRow = ({ selection, id, label }: { selection: Selection; id: string; label: string }) => (
  <input
    type="checkbox"
    aria-label={`Select ${label}`}
    checked={selection.has(id)}
    onChange={(event) => selection.set([id], event.currentTarget.checked)}
  />
)

export const SelectAll = ({ selection, ids }: { selection: Selection; ids: readonly string[] }) => (
  <label>
    <input
      type="checkbox"
      checked={ids.length > 0 && selection.ids.length === ids.length}
      onChange={(event) => selection.set(ids, event.currentTarget.checked)}
    />{' '}
    all {ids.length} shown
  </label>
)
