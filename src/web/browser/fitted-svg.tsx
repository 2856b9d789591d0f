import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

type FittedProps = {
  readonly height: number | ((width: number) => number)
  readonly label: string
  /** `group` for a drawing that holds links. */
  readonly role?: 'img' | 'group'
  readonly class?: string
  /** Draws for a width in pixels. */
  readonly children: (width: number) => ComponentChildren
}

/** A drawing as wide as its place, pixel for pixel: texts keep their size on every screen. */
export function FittedSvg({ height, label, role = 'img', class: name, children }: FittedProps) {
  const place = useRef<HTMLDivElement>(null)
  const width = useSignal(0)
  useLayoutEffect(() => {
    const { current } = place
    if (!current) return
    const measure = () => {
      width.value = Math.floor(current.clientWidth)
    }
    measure()
    const sizes = new ResizeObserver(measure)
    sizes.observe(current)
    return () => sizes.disconnect()
  }, [])
  const heightPx = typeof height === 'number' ? height : height(width.value)
  return (
    <div ref={place} class="fitted" style={{ minHeight: `${heightPx}px` }}>
      {width.value > 0 && (
        <svg
          viewBox={`0 0 ${width.value} ${heightPx}`}
          width={width.value}
          height={heightPx}
          class={name}
          role={role}
          aria-label={label}
        >
          {children(width.value)}
        </svg>
      )}
    </div>
  )
}
