import { signal } from '@preact/signals'

const themes = ['system', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

const kept = localStorage.getItem('theme')
const theme = signal<Theme>(themes.find((one) => one === kept) ?? 'system')
const show = (chosen: Theme) => {
  if (chosen === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = chosen
}
show(theme.value)

/** Light, dark, or as the system has it; this browser remembers. */
export function ThemeSwitch() {
  const choose = (event: Event) => {
    const chosen = themes.find((one) => one === (event.currentTarget as HTMLSelectElement).value) ?? 'system'
    theme.value = chosen
    localStorage.setItem('theme', chosen)
    show(chosen)
  }
  return (
    <label>
      Look{' '}
      <select value={theme.value} onChange={choose}>
        {themes.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  )
}
