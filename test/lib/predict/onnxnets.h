/* SPDX-License-Identifier: Apache-2.0
 *
 * Published architectures with their sizes, as their exporters write them; weights have sizes only.
 */
#ifndef TEST_LIB_PREDICT_ONNXNETS_H
#define TEST_LIB_PREDICT_ONNXNETS_H

#include "test/lib/predict/onnxmake.h"

void onnxnets_resnet50(struct onnxmake *m);
void onnxnets_vgg16(struct onnxmake *m);
void onnxnets_mobilenet_v2(struct onnxmake *m);
/* The encoder with its pooler; the sequence length is the named size `sequence`. */
void onnxnets_bert_base(struct onnxmake *m);

#endif
