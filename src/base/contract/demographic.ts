import { z } from 'zod'
import { parseInstant } from '../time/instant.ts'
import { caseInsensitiveEnumSchema, optionalTextSchema } from './text.ts'

const genders = ['Male', 'Female', 'Gender Diverse'] as const
const relationships = ['Single', 'Partner', 'Spouse', 'Married'] as const
const locales = ['Rural', 'Urban'] as const
const livingArrangements = ['Renting', 'HomeOwner', 'Homeless'] as const

const ageError = 'must be a whole number from 1 to 120'
const ageSchema = z
  .union(
    [
      z.int().min(1).max(120),
      z
        .string()
        .regex(/^\d{1,3}$/)
        .transform(Number)
        .pipe(z.int().min(1).max(120)),
    ],
    { error: ageError },
  )
  .meta({ description: 'Years, 1 to 120; also as a string of digits' })

const countrySchema = z
  .string()
  .regex(/^[A-Za-z]{2}$/, { error: 'must be a country code of two letters' })
  .transform((code) => code.toUpperCase())

const birthDateSchema = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/, { error: 'must be a date such as 1990-04-01' })
  .refine((text) => parseInstant(text) !== undefined, { error: 'must be a date of the calendar' })

/** All fields are optional and nullable. PUT replaces all fields; PATCH keeps missing fields and clears null fields. */
export const demographicInputSchema = z.object({
  age: ageSchema.nullish(),
  gender: caseInsensitiveEnumSchema(genders).nullish(),
  birthDate: birthDateSchema.nullish(),
  country: countrySchema.nullish(),
  birthCountry: countrySchema.nullish(),
  ethnicity: optionalTextSchema(200),
  occupation: optionalTextSchema(200),
  industry: optionalTextSchema(200),
  incomeRange: optionalTextSchema(200),
  education: optionalTextSchema(200),
  relationship: caseInsensitiveEnumSchema(relationships).nullish(),
  locale: caseInsensitiveEnumSchema(locales).nullish(),
  livingArrangement: caseInsensitiveEnumSchema(livingArrangements).nullish(),
})

const nullableText = z.string().nullable()

export const demographicAnswerSchema = z.strictObject({
  age: z.int().nullable(),
  gender: z.enum(genders).nullable(),
  birthDate: z.iso.date().nullable(),
  country: nullableText,
  birthCountry: nullableText,
  ethnicity: nullableText,
  occupation: nullableText,
  industry: nullableText,
  incomeRange: nullableText,
  education: nullableText,
  relationship: z.enum(relationships).nullable(),
  locale: z.enum(locales).nullable(),
  livingArrangement: z.enum(livingArrangements).nullable(),
})

/** A profile has one demographic record, so no field has to identify it. */
export const receivedDemographicSchema = z.looseObject({
  age: z.union([z.number(), z.string()]).nullish(),
  gender: z.string().nullish(),
  birthDate: z.string().nullish(),
  country: z.string().nullish(),
})

export type DemographicInput = z.infer<typeof demographicInputSchema>
