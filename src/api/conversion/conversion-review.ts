/** What a conversion webhook answers to an API server (apiextensions.k8s.io/v1 ConversionReview). */
import type { Conversion } from './conversion.ts';
import { convertObject, V1, V1ALPHA1 } from './conversion.ts';
import { formatFieldError } from '../validation/field-errors.ts';
import type { PlainObject } from '../plain-object.ts';
import { fail } from '../result.ts';
import { isPlainObject, own } from '../plain-object.ts';
import { validateObject } from '../validation/validate.ts';
import { clipped, visibleText } from '../visible-text.ts';

export interface ConversionAnswer {
  readonly apiVersion: 'apiextensions.k8s.io/v1';
  readonly kind: 'ConversionReview';
  readonly response: {
    readonly uid: string;
    readonly result: { readonly status: 'Success' | 'Failure'; readonly message?: string };
    readonly convertedObjects: readonly PlainObject[];
  };
}

const LONGEST_MESSAGE = 1024;

/** `UserDefinedNetwork tenant-a/blue`, as far as the object says. */
function describe(object: PlainObject): string {
  const metadata = own(object, 'metadata');
  const meta = isPlainObject(metadata) ? metadata : {};
  const text = (value: unknown): string[] => (typeof value === 'string' ? [value] : []);
  const name = [...text(own(meta, 'namespace')), ...text(own(meta, 'name'))].join('/');
  return [...text(own(object, 'kind')), name].join(' ');
}

/**
 * The object in another version. A flat object on its way to storage must obey the rules of v1, which the API server
 * checks only for objects that are written in v1.
 */
function convertForStorage(object: PlainObject, version: string): Conversion {
  const conversion = convertObject(object, version);
  if (conversion.kind === 'invalid' || version !== V1 || own(object, 'apiVersion') !== V1ALPHA1)
    return conversion;
  const checked = validateObject(object);
  return checked.kind === 'invalid' ? fail(checked.errors) : conversion;
}

/**
 * The answer to a review: all objects converted, in order, or the reason why one of them can't be. Undefined when the
 * value is no review.
 */
export function answerConversionReview(review: unknown): ConversionAnswer | undefined {
  const request = isPlainObject(review) ? own(review, 'request') : undefined;
  if (!isPlainObject(request)) return undefined;
  const [uid, version, objects] = [
    own(request, 'uid'),
    own(request, 'desiredAPIVersion'),
    own(request, 'objects'),
  ];
  if (typeof uid !== 'string' || typeof version !== 'string' || !Array.isArray(objects))
    return undefined;
  const answer = (
    result: ConversionAnswer['response']['result'],
    convertedObjects: readonly PlainObject[],
  ): ConversionAnswer => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'ConversionReview',
    response: { uid, result, convertedObjects },
  });
  const converted: PlainObject[] = [];
  for (const object of objects as readonly unknown[]) {
    if (!isPlainObject(object))
      return answer({ status: 'Failure', message: 'an object of the review is not a map' }, []);
    const conversion = convertForStorage(object, version);
    if (conversion.kind === 'invalid') {
      const message = `${describe(object)}: ${conversion.error.map(formatFieldError).join('; ')}`;
      return answer(
        { status: 'Failure', message: visibleText(clipped(message, LONGEST_MESSAGE)) },
        [],
      );
    }
    converted.push(conversion.value);
  }
  return answer({ status: 'Success' }, converted);
}
