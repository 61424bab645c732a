import { namespaces, networkAttachmentDefinitions, nodes, pods } from '../api/kinds.ts';
import { InformerViews } from '../store/informers.ts';

/** What is needed to give addresses to pods. */
export class PodInformers extends InformerViews {
  readonly nads = this.view(networkAttachmentDefinitions);
  readonly namespaces = this.view(namespaces);
  readonly nodes = this.view(nodes);
  readonly pods = this.view(pods);
}
