const DATE_WIDTH = 56

/** Dates stand below every day, or every so many days, so that none touches the next. */
export const datesApart = (days: number, width: number): number => Math.max(1, Math.ceil((days * DATE_WIDTH) / width))
