/** Says that a field is wrong, and why. */
export type Complain = (field: string, value: unknown, why: string) => void;
