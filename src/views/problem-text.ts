/** Problems as lines for people: where the object is written, what is wrong, and what to do where the text alone does not say. */
import type { ZoneProblem } from '../api/zone-status.ts';

/** Finds `FILE:LINE` of an object (`Kind namespace/name`); undefined where no file declares it. */
export type PlaceOf = (object: string) => string | undefined;

/** Texts that conditions carry in ovn-kubernetes' words, and what they leave out: the field, and the remedy. */
const REMEDIES: readonly { readonly text: RegExp; readonly remedy: string }[] = [
  {
    text: /user defined join subnet "[^"]*" overlaps|overlaps user defined join subnet/,
    remedy: 'change joinSubnets (spec.layer3 or spec.layer2) to a range that nothing else uses',
  },
  {
    text: /user defined subnet "[^"]*" overlaps|overlaps user defined subnet/,
    remedy:
      "change subnets (spec.layer3 or spec.layer2) to a range outside of the cluster's own (heddle node --help lists them)",
  },
  {
    text: /^invalid primary network state for namespace/,
    remedy:
      'a namespace gets the label when it is created; without it declare the network as Secondary, with it declare a Primary one',
  },
  {
    text: /^foreign NetworkAttachmentDefinition/,
    remedy:
      'delete that NetworkAttachmentDefinition, or give the network another name (metadata.name)',
  },
];

const SAYS_WHAT_TO_DO = /: choose a range /;

/** The problem with its remedy. */
export const withRemedy = (message: string): string => {
  const found = REMEDIES.find(({ text }) => text.test(message));
  return found === undefined || SAYS_WHAT_TO_DO.test(message) || message.includes(found.remedy)
    ? message
    : `${message}; ${found.remedy}`;
};

/** `two-tenants/blue.yaml:12: Pod blue/web: spec.nodeName: there is no node "n9": …`. */
export function problemText({ object, message }: ZoneProblem, placeOf: PlaceOf): string {
  const place = placeOf(object);
  return `${place === undefined ? '' : `${place}: `}${object}: ${withRemedy(message)}`;
}
